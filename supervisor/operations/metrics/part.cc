// Metrics of tenants as a part of the daemon: sums of ended executions by tenant, connections, use of workspaces.
#include <algorithm>
#include <map>

#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/metrics/tenant_numbers.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/tenants/tenant.h"

namespace metrics {
namespace {

struct TenantSources {
  const BusiestTenants& busiest;
  const executions::ExecutionRegistry& executions;
  const bus::Members& members;
  const tenants::Registry& registry;
};

// The tenants with a name, and at the end the sum of the others. Its cost does not depend on the number of tenants.
std::vector<TenantNumbers> tenant_numbers(const TenantSources& from) {
  std::map<std::string, TenantNumbers, std::less<>> named;
  TenantNumbers numbers;
  numbers.name = kOtherTenants;
  numbers.sum = from.busiest.peers();
  from.busiest.each_named([&](std::string_view name, const BusiestTenants::Sum& sum) {
    TenantNumbers& tenant = named[std::string(name)];
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
    const auto it = named.find(execution.tenant.account);
    TenantNumbers& tenant = it == named.end() ? numbers : it->second;
    (execution.stage == executions::Stage::waiting ? tenant.waiting : tenant.running)++;
  });
  std::vector<TenantNumbers> all;
  for (auto& [name, tenant] : named) all.push_back(std::move(tenant));
  all.push_back(std::move(numbers));
  return all;
}

class TenantMetricsPart final : public Part, public TenantDataOwner, public MetricSource {
 public:
  TenantMetricsPart(executions::ExecutionRegistry& executions, const bus::Members& members,
                    const tenants::Registry& registry)
      : executions_(executions), members_(members), registry_(registry), busiest_(executions) {}

  static Result<std::unique_ptr<TenantMetricsPart>> open(executions::ExecutionRegistry& executions,
                                                         bus::Members& members, tenants::Registry& registry) {
    return std::make_unique<TenantMetricsPart>(executions, members, registry);
  }

  void forget(const tenants::TenantId& id) override {
    if (id.workspace.empty()) busiest_.forget(id.account);
  }

  void write_metrics(OpenMetricsText& text, Reader reader) const override {
    text.family("warder_tenants", "gauge", "", "Tenants with an execution that ended since the daemon started.");
    text.sample("", {}, busiest_.known());
    if (!reader.sees_names) return;
    write_tenants(text, tenant_numbers({busiest_, executions_, members_, registry_}));
  }

 private:
  executions::ExecutionRegistry& executions_;
  const bus::Members& members_;
  const tenants::Registry& registry_;
  BusiestTenants busiest_;
};

}  // namespace

PartEntry part() { return part_entry_of("metrics of tenants", TenantMetricsPart::open); }

}  // namespace metrics
