// The upstream servers as a part of the daemon.
#include <algorithm>

#include "policies/store.h"
#include "supervisor/base/log.h"
#include "supervisor/daemon/configuration/options.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/upstream/authorization/stored_logins.h"
#include "supervisor/upstream/bus_methods.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/upstream_servers.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr auto kMaxLoading = 300ms;  // READY=1 waits at most this long for stored tool definitions
constexpr size_t kMaxServers = 200;  // with metrics of their own; the others are left out

UpstreamServers::Settings settings_of(Options& options, const StateFolder& state, const policies::Store& policies,
                                      oauth::LoginService* logins, ServerNetwork* network) {
  UpstreamServers::Settings settings;
  settings.servers = std::exchange(options.servers, {});
  settings.definitions = state.servers;
  settings.no_user = {"", policies.standard(), -1, state.servers};
  settings.logins = logins;
  settings.network = network;
  if (!settings.servers.empty()) log_info("upstream servers: {}", settings.servers.size());
  return settings;
}

class UpstreamPart final : public Part,
                           public Beginner,
                           public TenantDataOwner,
                           public Drainer,
                           public MetricSource,
                           public BusSource {
 public:
  UpstreamPart(jail::Host& host, UpstreamServers::Settings settings, WorkerThread& disk,
               discovery::Discovery& discovery)
      : folder_(settings.definitions),
        logins_(settings.logins),
        disk_(disk),
        discovery_(discovery),
        servers_(host, std::move(settings)),
        tasks_(host.loop) {
    discovery_.add_others([this] { return discovery::ServerTools{servers_.readings(), servers_.unlearned(), {}}; });
    servers_.on_change([this] { tasks_.spawn(discovery_.refresh()); });
  }

  static Result<std::unique_ptr<UpstreamPart>> open(jail::Host& host, Options& options, StateFolder& state,
                                                    StateThreads& threads, policies::Store& policies,
                                                    discovery::Discovery& discovery, oauth::LoginService* logins,
                                                    ServerNetwork* network) {
    auto settings = settings_of(options, state, policies, logins, network);
    return std::make_unique<UpstreamPart>(host, std::move(settings), *threads.disk, discovery);
  }
  std::tuple<UpstreamServers&> services() { return {servers_}; }

  Task<Result<>> begin() override {
    servers_.begin();
    if (!servers_.empty()) {
      co_await servers_.loaded(kMaxLoading);
      tasks_.spawn(discovery_.refresh());
    }
    co_return Result<>{};
  }
  void close_account(const std::string& account) override { servers_.end_idle_of(account); }
  void forget(const tenants::TenantId& id) override {
    if (!id.workspace.empty()) return;
    if (logins_) return servers_.forget_logins_of(id.account);
    tasks_.spawn(erase_logins(id.account));
  }
  void disconnect() override { tasks_.cancel_all(); }
  void add_bus_members(bus::OfferedMembers& members) override {
    offer_server_methods(members, servers_);
    offer_login_methods(members, servers_);
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader reader) const override {
    if (!reader.sees_names) return;  // names of servers tell what a machine is used for
    struct Row {
      std::string name;
      ServerCounts counts;
      uint64_t running;
    };
    std::vector<Row> rows;
    servers_.each_counted([&](const std::string& name, const ServerCounts& counts, uint64_t running) {
      if (rows.size() < kMaxServers) rows.push_back({name, counts, running});
    });
    text.family("warder_upstream_calls", "counter", "",
                "Calls of upstream servers' tools: ok, error (the tool's own answer), failed (no answer), refused (by "
                "Warder: too many calls wait).");
    for (const auto& [name, counts, running] : rows) {
      text.sample("_total", {{"server", name}, {"result", "ok"}}, counts.calls_ok);
      text.sample("_total", {{"server", name}, {"result", "error"}}, counts.calls_error);
      text.sample("_total", {{"server", name}, {"result", "failed"}}, counts.calls_failed);
      text.sample("_total", {{"server", name}, {"result", "refused"}}, counts.calls_refused);
    }
    text.family("warder_upstream_call_seconds", "summary", "seconds",
                "Time of these calls, with a start of the server.");
    for (const auto& [name, counts, running] : rows) {
      text.sample("_count", {{"server", name}}, counts.calls_ok + counts.calls_error + counts.calls_failed);
      text.seconds("_sum", {{"server", name}}, counts.call_us);
    }
    text.family("warder_upstream_connections", "gauge", "",
                "Running processes of, or sessions with, upstream servers.");
    for (const auto& [name, counts, running] : rows) text.sample("", {{"server", name}}, running);
    text.family("warder_upstream_starts", "counter", "", "Starts of upstream servers.");
    for (const auto& [name, counts, running] : rows) {
      text.sample("_total", {{"server", name}, {"result", "ok"}}, counts.starts_ok);
      text.sample("_total", {{"server", name}, {"result", "failed"}}, counts.starts_failed);
    }
    text.family("warder_upstream_losses", "counter", "", "Upstream servers that ended or hung without being asked to.");
    for (const auto& [name, counts, running] : rows) text.sample("_total", {{"server", name}}, counts.losses);
  }

 private:
  // Logins that a warderd with oauth has left.
  Task<> erase_logins(std::string account) {
    size_t count = 0;
    const WorkerThread::Job job = [&count, account, folder = folder_]() -> Result<> {
      TRY(count, oauth::erase_logins_of(folder, account));
      return {};
    };
    const auto erased = co_await disk_.run(job);
    if (!erased) log_error("tenant {}: its logins at upstream servers stay: {}", account, erased.error().what);
    if (count > 0) log_warning("tenant {}: {} logins were erased, but not revoked: {}", account, count, kNoLogins);
  }

  const int folder_;  // of upstream servers; borrowed
  oauth::LoginService* const logins_;
  WorkerThread& disk_;
  discovery::Discovery& discovery_;
  UpstreamServers servers_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace

PartEntry part() { return part_entry_of("upstream", UpstreamPart::open); }

}  // namespace upstream
