// The catalog of tools as a part of the daemon: the catalog itself, learning from searches, and the files of /servers.
#include "supervisor/base/log.h"
#include "supervisor/daemon/configuration/options.h"
#include "supervisor/operations/bus/offered_members.h"
#include "supervisor/parts.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/discovery/search_learning.h"

namespace discovery {
namespace {

using namespace std::chrono_literals;

constexpr auto kThesaurusAfter = 10s;  // without tools to find: sooner for a search

// Without a readable folder of definitions the daemon serves an empty catalog.
Result<std::unique_ptr<Discovery>> open_catalog(Loop& loop, const Options& options) {
  std::vector<std::string> servers;
  for (const auto& server : options.servers) servers.push_back(server.name);
  auto opened = Discovery::open(loop, options.catalog, servers);
  if (opened) return opened;
  log_error("serving without tool definitions: {}", opened.error().what);
  return Discovery::open(loop, "", std::move(servers));
}

// ForgetSearches of D-Bus. An empty name: what all tenants together have taught.
Task<Result<bus::MessagePtr>> forget_searches(SearchLearning& learning, bus::MessagePtr call,
                                              bus::Authority& authority) {
  const char* tenant = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &tenant); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  const std::string name = tenant;
  CO_TRY(auto caller, co_await authority.allow(bus::share(call.get()), bus::Right::configure, std::string()));
  log_notice("D-Bus: user {} deletes the learning from searches of {}", caller.uid,
             name.empty() ? "all tenants together" : "tenant " + printable(name, 64));
  learning.forget(name);
  co_return bus::reply_to(call.get());
}

class DiscoveryPart final : public Part, public Beginner, public TenantDataOwner, public Drainer, public BusSource {
 public:
  DiscoveryPart(Loop& loop, const Options& options, std::unique_ptr<Discovery> discovery)
      : loop_(loop),
        learned_(options.state + "/searches"),
        has_servers_(!options.servers.empty()),
        discovery_(std::move(discovery)),
        tasks_(loop) {}

  static Result<std::unique_ptr<DiscoveryPart>> open(Loop& loop, Options& options) {
    TRY(auto discovery, open_catalog(loop, options));
    return std::make_unique<DiscoveryPart>(loop, options, std::move(discovery));
  }
  std::tuple<Discovery&, SearchLearning&> services() { return {*discovery_, learning_}; }

  Task<Result<>> begin() override {
    learning_.keep_in(learned_);
    tasks_.spawn(learning_.keep(loop_));
    const bool has_tools = has_servers_ || discovery_->current()->size() > 0;
    tasks_.spawn(learning_.read_thesaurus(loop_, has_tools ? 0ms : kThesaurusAfter));
    co_return Result<>{};
  }
  void forget(const tenants::TenantId& id) override { learning_.forget(id.text()); }
  void add_bus_members(bus::OfferedMembers& members) override {
    members.add_method("ForgetSearches", {{"s", "tenant"}}, {},
                       [this](bus::MessagePtr call, bus::Authority& authority) {
                         return forget_searches(learning_, std::move(call), authority);
                       });
  }
  Task<> finish_calls() override {
    learning_.write_all();
    co_return;
  }
  void disconnect() override { tasks_.cancel_all(); }

 private:
  Loop& loop_;
  const std::string learned_;  // the folder of what searches have taught
  const bool has_servers_;
  std::unique_ptr<Discovery> discovery_;
  SearchLearning learning_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace

PartEntry part() { return part_entry_of("discovery", DiscoveryPart::open); }

}  // namespace discovery
