// org.warder.Warder1.Tenant: its table.
#include "policies/policy.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/tenant.h"

namespace bus {
namespace {

struct Seen {
  const DaemonServices& services;
  tenants::Tenant& tenant;
};

// The proposals of the tenant and its named workspaces that wait for a decision, and the bytes that all its proposals
// hold.
struct HeldProposals {
  uint32_t open = 0;
  uint64_t bytes = 0;
};
HeldProposals held_proposals_of(const Seen& s) {
  HeldProposals sum;
  for (const auto& item : s.services.registry.of_account(s.tenant.name())) {
    const auto store = s.services.proposals.find(item->id());
    if (!store) continue;
    sum.open += static_cast<uint32_t>(store->open_proposals());
    sum.bytes += store->usage().bytes;
  }
  return sum;
}

struct TenantView {
  std::string name;
  tenants::Usage usage;
  tenants::QuotaLimits limits;

  friend int append(sd_bus_message* to, const std::vector<TenantView>& workspaces) {
    int r = sd_bus_message_open_container(to, 'a', "(stttt)");
    for (const TenantView& workspace : workspaces)
      if (r >= 0)
        r = sd_bus_message_append(to, "(stttt)", workspace.name.c_str(), workspace.usage.bytes, workspace.usage.files,
                                  workspace.limits.bytes, workspace.limits.files);
    return r < 0 ? r : sd_bus_message_close_container(to);
  }
};

struct TenantProperties {
  static std::string name(const Seen& s) { return s.tenant.name(); }
  static std::string policy(const Seen& s) {
    const auto policy = s.services.members.of(s.tenant.name()).policy;
    return policy ? policy->name : "";
  }
  static policies::Limits limits(const Seen& s) {
    const auto policy = s.services.members.of(s.tenant.name()).policy;
    return policy ? policy->limits.maximum : policies::Limits{};
  }
  static uint32_t most_running(const Seen& s) {
    const auto policy = s.services.members.of(s.tenant.name()).policy;
    return policy ? policy->concurrent_executions : 0;
  }
  static uint32_t connections(const Seen& s) { return s.services.members.of(s.tenant.name()).count; }
  static uint32_t running(const Seen& s) {
    return s.services.executions.count(s.tenant.name(), executions::Stage::running);
  }
  static uint32_t waiting(const Seen& s) {
    return s.services.executions.count(s.tenant.name(), executions::Stage::waiting);
  }
  static uint64_t executions(const Seen& s) { return s.services.executions.totals_of(s.tenant.name()).executions; }
  static executions::Counts outcomes(const Seen& s) {
    return s.services.executions.totals_of(s.tenant.name()).outcomes;
  }
  static uint64_t cpu_usage_usec(const Seen& s) { return s.services.executions.totals_of(s.tenant.name()).cpu_us; }
  static uint64_t workspace_bytes(const Seen& s) { return s.tenant.workspace().quota().usage().bytes; }
  static uint64_t workspace_files(const Seen& s) { return s.tenant.workspace().quota().usage().files; }
  static uint64_t quota_bytes(const Seen& s) { return s.tenant.workspace().quota().limits().bytes; }
  static uint64_t quota_files(const Seen& s) { return s.tenant.workspace().quota().limits().files; }
  static uint32_t open_proposals(const Seen& s) { return held_proposals_of(s).open; }
  static uint64_t proposal_bytes(const Seen& s) { return held_proposals_of(s).bytes; }
  // The workspaces used since the daemon started; the tenant's default workspace comes first.
  static std::vector<TenantView> workspaces(const Seen& s) {
    std::vector<TenantView> all;
    for (const auto& item : s.services.registry.of_account(s.tenant.name())) {
      const auto& quota = item->workspace().quota();
      const std::string name = item->is_workspace() ? item->id().workspace : "default";
      all.push_back({name, quota.usage(), quota.limits()});
    }
    return all;
  }
};

template <auto Of>
int tenant_property(sd_bus*, const char* path, const char*, const char*, sd_bus_message* reply, void* data,
                    sd_bus_error*) {
  const auto& objects = *static_cast<BusObjects*>(data);
  const auto tenant = objects.tenant_at(path);
  return tenant ? append(reply, Of(Seen{objects.services(), *tenant})) : -ENOENT;
}

}  // namespace

const sd_bus_vtable kTenantTable[] = {
    SD_BUS_VTABLE_START(0),
#include "supervisor/operations/bus/tenant_rows.h"
    SD_BUS_VTABLE_END,
};

}  // namespace bus
