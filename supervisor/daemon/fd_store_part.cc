// The service manager's store of connections as a part of the daemon, if connections stay open over a restart.
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/systemd/fd_store.h"
#include "supervisor/parts.h"

namespace {

class FdStorePart final : public Part, public Drainer {
 public:
  explicit FdStorePart(std::unique_ptr<FdStore> store) : store_(std::move(store)) {}

  static Result<std::unique_ptr<FdStorePart>> open(Loop& loop, Prepared& prepared) {
    std::unique_ptr<FdStore> store;
    if (prepared.options.connections == Options::Connections::saved) {
      TRY(store, FdStore::open(loop, prepared.passed.connections));
    }
    return std::make_unique<FdStorePart>(std::move(store));
  }
  std::tuple<FdStore*> services() { return {store_.get()}; }

  Task<> finish_calls() override {
    if (store_) co_await store_->flushed();
  }

 private:
  std::unique_ptr<FdStore> store_;  // nullptr: connections end with the daemon
};

}  // namespace

PartEntry fd_store_part() { return part_entry_of("stored connections", FdStorePart::open); }
