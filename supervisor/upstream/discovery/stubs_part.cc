// The files of /servers as a part of the daemon: stubs of the catalog's tools, which jailed code imports.
#include "jail/pool/pool.h"
#include "supervisor/base/log.h"
#include "supervisor/given_services.h"
#include "supervisor/parts.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/discovery/stub_tree.h"
#include "supervisor/upstream/upstream_servers.h"

namespace discovery {
namespace {

constexpr size_t kStubsBeforeReady = 2'000;  // tools: stubs of a larger catalog are written after the start

class StubsPart final : public Part, public Beginner, public Drainer {
 public:
  StubsPart(Loop& loop, std::unique_ptr<StubTree> stubs, Discovery& discovery, jail::Pool& pool)
      : stubs_(std::move(stubs)), discovery_(discovery), pool_(pool), tasks_(loop) {
    discovery_.on_change([this] { tasks_.spawn(show()); });
  }

  // The part needs the upstream servers only to begin later than they do, when their tools are known.
  static Result<std::unique_ptr<StubsPart>> open(Loop& loop, StateFolder& state, Discovery& discovery, jail::Pool& pool,
                                                 upstream::UpstreamServers*) {
    TRY(auto stubs, StubTree::start(loop, std::move(state.stubs)));
    return std::make_unique<StubsPart>(loop, std::move(stubs), discovery, pool);
  }
  std::tuple<StubTree&> services() { return {*stubs_}; }

  // Writing the stubs of a large catalog takes seconds. Until then, imports ask the daemon for a stub ("stub_file").
  Task<Result<>> begin() override {
    if (discovery_.current()->size() <= kStubsBeforeReady) {
      co_await show();
    } else {
      tasks_.spawn(show());
    }
    co_return Result<>{};
  }
  void disconnect() override { tasks_.cancel_all(); }

 private:
  // Writes the stubs of the current catalog. If they changed, other jails wait instead: the former ones hold the old
  // stubs.
  Task<> show() {
    auto visible = co_await stubs_->show(discovery_.current());
    if (!visible) log_warning("{}", visible.error().what);
    if (visible && *visible) pool_.renew();
  }

  std::unique_ptr<StubTree> stubs_;
  Discovery& discovery_;
  jail::Pool& pool_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace

PartEntry stubs_part() { return part_entry_of("stubs", StubsPart::open); }

}  // namespace discovery
