#include "supervisor/operations/metrics/tenant_numbers.h"

#include "supervisor/operations/metrics/text.h"

namespace metrics {
namespace {

void add_tenants(OpenMetricsText& text, const std::vector<TenantNumbers>& tenants) {
  text.family("warder_tenant_executions", "counter", "",
              "Executions that ended, by tenant and result: limit (of the policy), quota (of the workspace), refused.");
  for (const TenantNumbers& tenant : tenants)
    for (size_t i = 0; i < tenant.sum.ends.size(); i++)
      text.sample("_total", {{"tenant", tenant.name}, {"result", BusiestTenants::kEndNames[i]}}, tenant.sum.ends[i]);
  text.family("warder_tenant_cpu_seconds", "counter", "seconds", "CPU time of a tenant's executions that ended.");
  for (const TenantNumbers& tenant : tenants) text.seconds("_total", {{"tenant", tenant.name}}, tenant.sum.cpu_us);
  text.family("warder_tenant_executions_now", "gauge", "", "A tenant's executions that wait for a place, or run.");
  for (const TenantNumbers& tenant : tenants) {
    text.sample("", {{"tenant", tenant.name}, {"state", "waiting"}}, tenant.waiting);
    text.sample("", {{"tenant", tenant.name}, {"state", "running"}}, tenant.running);
  }
  text.family("warder_tenant_connections", "gauge", "", "Connected clients of a tenant.");
  for (const TenantNumbers& tenant : tenants)
    if (tenant.has_workspace) text.sample("", {{"tenant", tenant.name}}, tenant.connections);
}

void add_workspaces(OpenMetricsText& text, const std::vector<TenantNumbers>& tenants) {
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
    for (const TenantNumbers& tenant : tenants)
      if (tenant.has_workspace) text.sample("", {{"tenant", tenant.name}}, tenant.*family.number);
  }
}

}  // namespace

void write_tenants(OpenMetricsText& text, const std::vector<TenantNumbers>& tenants) {
  add_tenants(text, tenants);
  add_workspaces(text, tenants);
}

}  // namespace metrics
