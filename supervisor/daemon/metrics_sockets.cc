// The daemon's metrics: sockets that systemd passed, or one that main.cc made for --metrics.
#include <sys/socket.h>

#include <ctime>

#include "supervisor/base/loopback.h"
#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/metrics/exposition.h"

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

metrics::HttpNumbers DaemonParts::http_numbers() const {
  constexpr std::chrono::hours kSoon{7 * 24};
  metrics::HttpNumbers numbers;
  if (http_) {
    numbers.connections = http_->connections();
    numbers.sessions = http_->sessions();
    numbers.event_streams = http_->event_streams();
  }
  for (size_t i = 0; i < streamable_http::kDenialReasons; i++) {
    const auto reason = static_cast<streamable_http::DenialReason>(i);
    numbers.refused.emplace_back(streamable_http::denial_name(reason),
                                 http_ ? http_->failed_attempts().count(reason) : 0);
  }
  const auto now = credentials::wall_now();
  for (const auto& token : tokens_in_force_->tokens().all())
    (token.is_expired(now)           ? numbers.tokens_expired
     : token.is_expired(now + kSoon) ? numbers.tokens_expire_soon
                                     : numbers.tokens_good)++;
  return numbers;
}

doctor::HttpUse DaemonParts::http_use() const {
  const metrics::HttpNumbers numbers = http_numbers();
  doctor::HttpUse use;
  for (const auto& listener : http_listeners_) use.addresses.push_back(listener->address());
  use.connections = numbers.connections, use.sessions = numbers.sessions;
  for (const auto& [reason, count] : numbers.refused) use.refused += count;
  use.tokens_good = numbers.tokens_good, use.tokens_expire_soon = numbers.tokens_expire_soon;
  use.tokens_expired = numbers.tokens_expired;
  use.has_jwt = tokens_in_force_->jwt().is_set();
  use.has_jwt_keys = !tokens_in_force_->jwt().keys.empty();
  return use;
}

metrics::FleetNumbers DaemonParts::fleet_numbers(bool shows_tenants) const {
  metrics::FleetNumbers fleet;
  fleet.shows_tenants = shows_tenants;
  fleet.tenants_known = busiest_tenants_.known();
  if (shows_tenants) fleet.tenants = tenant_numbers({busiest_tenants_, executions_, members_, registry_});
  fleet.servers = server_numbers(upstream_);
  const egress::EgressLink::Counts& reached = egress_.counts();
  fleet.egress.requests = {{"allowed", reached.allowed}, {"denied", reached.denied}, {"failed", reached.failed}};
  fleet.egress.bytes_up = reached.bytes_up, fleet.egress.bytes_down = reached.bytes_down;
  for (const auto& [language, stock] : pool_.stock())
    fleet.pool.push_back({std::string(jail::language_name(language)), stock.starting, stock.fewest, stock.most});
  for (const calls::Approval* waiting : approvals_.all())
    (waiting->by == policies::ApprovalRules::By::tenant ? fleet.approvals_for_tenants
                                                        : fleet.approvals_for_administrators)++;
  for (size_t i = 0; i < calls::kApprovalKinds; i++)
    fleet.approvals.emplace_back(calls::kind_name(static_cast<calls::ApprovalVerdict::Kind>(i)),
                                 approvals_.settled()[i]);
  const tenants::QuotaRefusals refused = tenants::quota_refusals();
  fleet.quota_refusals = {{"bytes", refused.bytes}, {"files", refused.files}};
  const tenants::IndexHost::Totals indexes = opened_.indexes->totals();
  fleet.indexes = {indexes.indexes, indexes.without, indexes.files, indexes.watches, indexes.walks};
  fleet.http = http_numbers();
  fleet.cluster = cluster_numbers();
  const tasks::TaskCounts kept = task_store_.counts();
  fleet.tasks = {kept.running, kept.ended, kept.result_bytes};
  const proposals::ProposalStores::Totals staged = proposals_.totals();
  fleet.proposals = {staged.open,
                     staged.bytes,
                     {{"committed", staged.ended.commits},
                      {"conflict", staged.ended.conflicts},
                      {"undone", staged.ended.undone},
                      {"discarded", staged.ended.discarded},
                      {"expired", staged.ended.expired}}};
  return fleet;
}

Result<> DaemonParts::open_metrics() {
  const auto started = static_cast<int64_t>(::time(nullptr));
  const auto answer_with = [this, started](bool is_tcp, bool shows_tenants) {
    return [this, started, is_tcp, shows_tenants](const http::HttpRequest& asked) -> http::Response {
      const Doing doing(LoopWork::metrics);
      if (is_tcp && !is_loopback_host(asked.host))
        return http::refusal("403 Forbidden", "name this server by its address: http://127.0.0.1:PORT/metrics");
      if (asked.path != "/" && asked.path != "/metrics") return http::refusal("404 Not Found", "GET /metrics");
      const metrics::DaemonNumbers numbers{started,
                                           server_.unread()->bytes(),
                                           state_disk_.trouble().has_value(),
                                           loop_.busy_time().longest(),
                                           !prepared_.configuration.degraded() && !reload_failed_,
                                           fleet_numbers(shows_tenants)};
      return {"200 OK", metrics::kContentType, metrics::exposition(executions_, &pool_, spans_queue(), numbers), {}};
    };
  };
  for (Fd& socket : std::exchange(prepared_.passed.metrics, {})) {
    const bool is_tcp = !is_unix_socket(socket);
    TRY(auto endpoint, http::Endpoint::open(loop_, std::move(socket), answer_with(is_tcp, !is_tcp)));
    metrics_.push_back(std::move(endpoint));
  }
  for (Fd& socket : std::exchange(prepared_.passed.tenant_metrics, {})) {
    const bool is_tcp = !is_unix_socket(socket);
    TRY(auto endpoint, http::Endpoint::open(loop_, std::move(socket), answer_with(is_tcp, true)));
    metrics_.push_back(std::move(endpoint));
  }
  return {};
}
