#include "supervisor/operations/metrics/fleet.h"

#include <algorithm>

namespace metrics {
namespace {

void add_tenants(OpenMetricsText& text, const FleetNumbers& fleet) {
  text.family("warder_tenant_executions", "counter", "",
              "Executions that ended, by tenant and result: limit (of the policy), quota (of the workspace), refused.");
  for (const TenantNumbers& tenant : fleet.tenants)
    for (size_t i = 0; i < tenant.sum.ends.size(); i++)
      text.sample("_total", {{"tenant", tenant.name}, {"result", BusiestTenants::kEndNames[i]}}, tenant.sum.ends[i]);
  text.family("warder_tenant_cpu_seconds", "counter", "seconds", "CPU time of a tenant's executions that ended.");
  for (const TenantNumbers& tenant : fleet.tenants)
    text.seconds("_total", {{"tenant", tenant.name}}, tenant.sum.cpu_us);
  text.family("warder_tenant_executions_now", "gauge", "", "A tenant's executions that wait for a place, or run.");
  for (const TenantNumbers& tenant : fleet.tenants) {
    text.sample("", {{"tenant", tenant.name}, {"state", "waiting"}}, tenant.waiting);
    text.sample("", {{"tenant", tenant.name}, {"state", "running"}}, tenant.running);
  }
  text.family("warder_tenant_connections", "gauge", "", "Connected clients of a tenant.");
  for (const TenantNumbers& tenant : fleet.tenants)
    if (tenant.has_workspace) text.sample("", {{"tenant", tenant.name}}, tenant.connections);
}

void add_workspaces(OpenMetricsText& text, const FleetNumbers& fleet) {
  const struct {
    const char *name, *unit, *help;
    uint64_t TenantNumbers::*number;
  } families[] = {
      {"warder_tenant_workspace_bytes", "bytes", "Size of a tenant's default workspace, as last counted.",
       &TenantNumbers::workspace_bytes},
      {"warder_tenant_workspace_limit_bytes", "bytes", "Quota of that workspace.",
       &TenantNumbers::workspace_limit_bytes},
      {"warder_tenant_workspace_files", "", "Files and folders in a tenant's default workspace, as last counted.",
       &TenantNumbers::workspace_files},
      {"warder_tenant_workspace_limit_files", "", "Quota of files and folders of that workspace.",
       &TenantNumbers::workspace_limit_files},
  };
  for (const auto& family : families) {
    text.family(family.name, "gauge", family.unit, family.help);
    for (const TenantNumbers& tenant : fleet.tenants)
      if (tenant.has_workspace) text.sample("", {{"tenant", tenant.name}}, tenant.*family.number);
  }
}

void add_servers(OpenMetricsText& text, const FleetNumbers& fleet) {
  const auto end = fleet.servers.begin() + static_cast<ptrdiff_t>(std::min(fleet.servers.size(), kMaxServers));
  const auto each = [&](auto fn) { std::for_each(fleet.servers.begin(), end, fn); };
  text.family("warder_upstream_calls", "counter", "",
              "Calls of upstream servers' tools: ok, error (the tool's own answer), failed (no answer), refused (by "
              "Warder: too many calls wait).");
  each([&](const ServerNumbers& server) {
    text.sample("_total", {{"server", server.name}, {"result", "ok"}}, server.calls_ok);
    text.sample("_total", {{"server", server.name}, {"result", "error"}}, server.calls_error);
    text.sample("_total", {{"server", server.name}, {"result", "failed"}}, server.calls_failed);
    text.sample("_total", {{"server", server.name}, {"result", "refused"}}, server.calls_refused);
  });
  text.family("warder_upstream_call_seconds", "summary", "seconds", "Time of these calls, with a start of the server.");
  each([&](const ServerNumbers& server) {
    text.sample("_count", {{"server", server.name}}, server.calls_ok + server.calls_error + server.calls_failed);
    text.seconds("_sum", {{"server", server.name}}, server.call_us);
  });
  text.family("warder_upstream_connections", "gauge", "", "Running processes of, or sessions with, upstream servers.");
  each([&](const ServerNumbers& server) { text.sample("", {{"server", server.name}}, server.connections); });
  text.family("warder_upstream_starts", "counter", "", "Starts of upstream servers.");
  each([&](const ServerNumbers& server) {
    text.sample("_total", {{"server", server.name}, {"result", "ok"}}, server.starts_ok);
    text.sample("_total", {{"server", server.name}, {"result", "failed"}}, server.starts_failed);
  });
  text.family("warder_upstream_losses", "counter", "", "Upstream servers that ended or hung without being asked to.");
  each([&](const ServerNumbers& server) { text.sample("_total", {{"server", server.name}}, server.losses); });
}

void add_indexes(OpenMetricsText& text, const IndexNumbers& indexes) {
  text.family("warder_workspace_indexes", "gauge", "",
              "Workspaces in use, by whether an index follows them or they are walked through for each execution.");
  text.sample("", {{"state", "followed"}}, indexes.indexes);
  text.sample("", {{"state", "walked"}}, indexes.without);
  text.family("warder_workspace_index_files", "gauge", "", "Files and folders in these indexes.");
  text.sample("", {}, indexes.files);
  text.family("warder_workspace_index_watches", "gauge", "", "Folders that inotify watches for these indexes.");
  text.sample("", {}, indexes.watches);
  text.family("warder_workspace_index_walks", "counter", "",
              "Looks that had to list all folders again: too many changes at once, or too few watches.");
  text.sample("_total", {}, indexes.walks);
}

void add_tasks(OpenMetricsText& text, const TaskNumbers& tasks) {
  text.family("warder_tasks", "gauge", "", "Background executions and tasks of the protocol, by state.");
  text.sample("", {{"state", "running"}}, tasks.running);
  text.sample("", {{"state", "ended"}}, tasks.ended);
  text.family("warder_task_results_bytes", "gauge", "bytes", "The stored results of tasks that have ended.");
  text.sample("", {}, tasks.result_bytes);
}

void add_proposals(OpenMetricsText& text, const ProposalNumbers& proposals) {
  text.family("warder_proposals_open", "gauge", "",
              "Proposals of staged executions that wait for a commit, of tenants in use since the start.");
  text.sample("", {}, proposals.open);
  text.family("warder_proposals_bytes", "gauge", "bytes",
              "What these proposals hold on the disk, with the files that an undo brings back.");
  text.sample("", {}, proposals.bytes);
  text.family("warder_proposal_results", "counter", "",
              "What became of proposals: committed, conflict (no change), undone, discarded, expired.");
  for (const auto& [result, count] : proposals.results) text.sample("_total", {{"result", result}}, count);
}

void add_http(OpenMetricsText& text, const HttpNumbers& http) {
  text.family("warder_http_connections", "gauge", "", "Clients that are connected over HTTP.");
  text.sample("", {}, http.connections);
  text.family("warder_http_sessions", "gauge", "", "Sessions of clients over HTTP (Mcp-Session-Id).");
  text.sample("", {}, http.sessions);
  text.family("warder_http_event_streams", "gauge", "", "Open streams of events to clients over HTTP.");
  text.sample("", {}, http.event_streams);
  text.family("warder_http_refused", "counter", "",
              "Requests over TCP that were refused with 401: without a token, in another form, unknown, expired.");
  for (const auto& [reason, count] : http.refused) text.sample("_total", {{"reason", reason}}, count);
  text.family("warder_access_tokens", "gauge", "", "Tokens for clients over TCP; expiring: within seven days.");
  text.sample("", {{"state", "good"}}, http.tokens_good);
  text.sample("", {{"state", "expiring"}}, http.tokens_expire_soon);
  text.sample("", {{"state", "expired"}}, http.tokens_expired);
}

void add_egress(OpenMetricsText& text, const EgressNumbers& egress) {
  text.family(
      "warder_egress_requests", "counter", "",
      "Requests of jailed code to hosts through the egress proxy, by verdict; failed: the host was not reached.");
  for (const auto& [verdict, count] : egress.requests) text.sample("_total", {{"verdict", verdict}}, count);
  text.family("warder_egress_bytes", "counter", "bytes",
              "Bytes of jailed code through the egress proxy, of ended programs.");
  text.sample("_total", {{"direction", "up"}}, egress.bytes_up);
  text.sample("_total", {{"direction", "down"}}, egress.bytes_down);
}

void add_approvals(OpenMetricsText& text, const FleetNumbers& fleet) {
  text.family("warder_approvals_now", "gauge", "", "Calls that wait for an approval, by the user who may decide.");
  text.sample("", {{"by", "tenant"}}, fleet.approvals_for_tenants);
  text.sample("", {{"by", "administrator"}}, fleet.approvals_for_administrators);
  text.family("warder_approvals", "counter", "", "Approvals that were settled, by decision.");
  for (const auto& [decision, count] : fleet.approvals) text.sample("_total", {{"decision", decision}}, count);
}

}  // namespace

void add_fleet(OpenMetricsText& text, const FleetNumbers& fleet) {
  text.family("warder_tenants", "gauge", "", "Tenants with an execution that ended since the daemon started.");
  text.sample("", {}, fleet.tenants_known);
  text.family("warder_pool_limits", "gauge", "",
              "The fewest and the most waiting jails that policies allow, by language.");
  for (const PoolNumbers& pool : fleet.pool) {
    text.sample("", {{"language", pool.language}, {"bound", "min"}}, pool.min);
    text.sample("", {{"language", pool.language}, {"bound", "max"}}, pool.max);
  }
  text.family("warder_pool_starting", "gauge", "", "Jails that are being built in advance, by language.");
  for (const PoolNumbers& pool : fleet.pool) text.sample("", {{"language", pool.language}}, pool.starting);
  text.family("warder_quota_refusals", "counter", "",
              "Writes of the daemon into workspaces that a quota refused, by limit; those of jailed code have the "
              "outcome disk.");
  for (const auto& [limit, count] : fleet.quota_refusals) text.sample("_total", {{"limit", limit}}, count);
  add_indexes(text, fleet.indexes);
  add_proposals(text, fleet.proposals);
  add_http(text, fleet.http);
  add_egress(text, fleet.egress);
  add_tasks(text, fleet.tasks);
  add_cluster(text, fleet.cluster);
  add_approvals(text, fleet);
  if (!fleet.shows_tenants) return;  // names of servers tell what a machine is used for
  add_servers(text, fleet);
  add_tenants(text, fleet);
  add_workspaces(text, fleet);
}

}  // namespace metrics
