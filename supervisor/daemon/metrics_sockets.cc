#include "supervisor/daemon/metrics_sockets.h"

#include <sys/socket.h>

#include <ctime>
#include <map>

#include "supervisor/base/log.h"
#include "supervisor/base/loopback.h"
#include "supervisor/daemon/configuration/trial.h"
#include "supervisor/operations/metrics/exposition.h"
#include "supervisor/protocol/mcp/listener.h"

namespace {

// Owner, group and mode of a Unix socket's file decide who reads it. Every user of the machine can connect to TCP.
bool is_unix_socket(const Fd& socket) {
  int family = 0;
  socklen_t size = sizeof family;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_UNIX;
}

std::vector<metrics::ServerNumbers> server_numbers(const upstream::UpstreamServers& upstream) {
  std::vector<metrics::ServerNumbers> all;
  upstream.each_counted([&](const std::string& name, const upstream::ServerCounts& counts, uint64_t running) {
    all.push_back({name, running, counts.calls_ok, counts.calls_error, counts.calls_failed, counts.calls_refused,
                   counts.call_us, counts.starts_ok, counts.starts_failed, counts.losses});
  });
  return all;
}

struct TenantSources {
  const metrics::BusiestTenants& busiest;
  const executions::ExecutionRegistry& executions;
  const bus::Members& members;
  const tenants::Registry& registry;
};

// The tenants with a name, and at the end the sum of the others. Its cost does not depend on the number of tenants.
std::vector<metrics::TenantNumbers> tenant_numbers(const TenantSources& from) {
  std::map<std::string, metrics::TenantNumbers, std::less<>> named;
  metrics::TenantNumbers others;
  others.name = metrics::kOtherTenants;
  others.sum = from.busiest.others();
  from.busiest.each_named([&](std::string_view name, const metrics::BusiestTenants::Sum& sum) {
    metrics::TenantNumbers& tenant = named[std::string(name)];
    tenant.name = name;
    tenant.sum = sum;
    tenant.connections = from.members.of(tenant.name).count;
    const auto opened = from.registry.find({tenant.name});
    if (!opened) return;
    const tenants::Quota& quota = opened->workspace().quota();
    tenant.has_workspace = true;
    tenant.workspace_bytes = quota.usage().bytes;
    tenant.workspace_files = quota.usage().files;
    tenant.workspace_limit_bytes = quota.limits().bytes;
    tenant.workspace_limit_files = quota.limits().files;
  });
  from.executions.each_living([&](const executions::ExecutionRecord& execution) {
    const auto found = named.find(execution.tenant.account);
    metrics::TenantNumbers& tenant = found == named.end() ? others : found->second;
    (execution.stage == executions::Stage::waiting ? tenant.waiting : tenant.running)++;
  });
  std::vector<metrics::TenantNumbers> all;
  for (auto& [name, tenant] : named) all.push_back(std::move(tenant));
  all.push_back(std::move(others));
  return all;
}

}  // namespace

metrics::FleetNumbers MetricsSockets::fleet_numbers(bool shows_tenants) const {
  metrics::FleetNumbers fleet;
  fleet.shows_tenants = shows_tenants;
  fleet.tenants_known = parts_.busiest_tenants.known();
  if (shows_tenants)
    fleet.tenants = tenant_numbers({parts_.busiest_tenants, parts_.executions, parts_.members, parts_.registry});
  fleet.servers = server_numbers(parts_.upstream);
  const egress::EgressLink::Counts& reached = parts_.egress.counts();
  fleet.egress.requests = {{"allowed", reached.allowed}, {"denied", reached.denied}, {"failed", reached.failed}};
  fleet.egress.bytes_up = reached.bytes_up, fleet.egress.bytes_down = reached.bytes_down;
  for (const auto& [language, stock] : parts_.pool.stock())
    fleet.pool.push_back({std::string(jail::language_name(language)), stock.starting, stock.fewest, stock.most});
  for (const calls::Approval* waiting : parts_.approvals.all())
    (waiting->by == policies::ApprovalRules::By::tenant ? fleet.approvals_for_tenants
                                                        : fleet.approvals_for_administrators)++;
  for (size_t i = 0; i < calls::kApprovalKinds; i++)
    fleet.approvals.emplace_back(calls::kind_name(static_cast<calls::ApprovalVerdict::Kind>(i)),
                                 parts_.approvals.settled()[i]);
  const tenants::QuotaRefusals refused = tenants::quota_refusals();
  fleet.quota_refusals = {{"bytes", refused.bytes}, {"files", refused.files}};
  const tenants::IndexHost::Totals indexes = parts_.indexes.totals();
  fleet.indexes = {indexes.indexes, indexes.without, indexes.files, indexes.watches, indexes.walks};
  fleet.http = parts_.doors.http_numbers();
  fleet.cluster = parts_.cluster.numbers();
  const tasks::TaskCounts kept = parts_.tasks.counts();
  fleet.tasks = {kept.running, kept.ended, kept.result_bytes};
  const proposals::ProposalStores::Totals staged = parts_.proposals.totals();
  fleet.proposals = {staged.open,
                     staged.bytes,
                     {{"committed", staged.ended.commits},
                      {"conflict", staged.ended.conflicts},
                      {"undone", staged.ended.undone},
                      {"discarded", staged.ended.discarded},
                      {"expired", staged.ended.expired}}};
  return fleet;
}

http::Response MetricsSockets::answer(const http::HttpRequest& asked, Readers readers) const {
  const NamedWork named_work(LoopWork::metrics);
  if (readers.are_tcp && !is_loopback_host(asked.host))
    return http::refusal("403 Forbidden", "name this server by its address: http://127.0.0.1:PORT/metrics");
  if (asked.path != "/" && asked.path != "/metrics") return http::refusal("404 Not Found", "GET /metrics");
  const metrics::DaemonNumbers numbers{started_s_,
                                       parts_.server.unread()->bytes(),
                                       parts_.state_disk.trouble().has_value(),
                                       parts_.journal.clock_jump_ms() / 1000,
                                       parts_.loop.busy_time().longest(),
                                       !parts_.prepared.configuration.degraded() && !parts_.has_reload_failed(),
                                       parts_.prepared.configuration.notes.shortfalls.size(),
                                       fleet_numbers(readers.see_tenants)};
  return {
      "200 OK", metrics::kContentType, metrics::exposition(parts_.executions, &parts_.pool, parts_.spans, numbers), {}};
}

Result<> MetricsSockets::open_socket(Fd socket, Readers readers) {
  TRY(auto endpoint,
      http::Endpoint::open(parts_.loop, std::move(socket),
                           [this, readers](const http::HttpRequest& asked) { return answer(asked, readers); }));
  endpoints_.push_back(std::move(endpoint));
  return {};
}

std::vector<configuration::Shortfall> MetricsSockets::open_missing(std::vector<configuration::Shortfall> missing) {
  const std::string& name = parts_.prepared.options.metrics;
  configuration::HeldSockets& held = parts_.prepared.held;
  if (held.metrics_passed || name.empty() || held.opened.contains(name) || configuration::has_key(missing, "metrics"))
    return missing;
  const auto opened = [&]() -> Result<> {
    if (is_tcp_address(name)) {
      TRY(const LoopbackAddress address, parse_loopback(name));
      TRY(Fd socket, listen_on(address));
      return open_socket(std::move(socket), {.are_tcp = true, .see_tenants = false});
    }
    TRY(Fd socket, mcp::listen_at(name, 0660));
    return open_socket(std::move(socket), {.are_tcp = false, .see_tenants = true});
  }();
  const auto& in_force = parts_.prepared.configuration;
  if (opened) {
    log_notice("metrics: listening on {}", name);
    held.opened.insert(name);
  } else {
    missing.push_back({"metrics", configuration::text_of_start(in_force.document, in_force.invocation.flags, "metrics",
                                                               opened.error())});
  }
  return missing;
}

Result<> MetricsSockets::open() {
  started_s_ = static_cast<int64_t>(::time(nullptr));
  for (Fd& socket : std::exchange(parts_.prepared.passed.metrics, {})) {
    const bool is_tcp = !is_unix_socket(socket);
    CHECKED(open_socket(std::move(socket), {.are_tcp = is_tcp, .see_tenants = !is_tcp}));
  }
  for (Fd& socket : std::exchange(parts_.prepared.passed.tenant_metrics, {})) {
    const bool is_tcp = !is_unix_socket(socket);
    CHECKED(open_socket(std::move(socket), {.are_tcp = is_tcp, .see_tenants = true}));
  }
  return {};
}
