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

std::string name_of(const Seen& s) { return s.tenant.name(); }
std::string tenant_policy_of(const Seen& s) {
  const auto policy = s.services.members.of(s.tenant.name()).policy;
  return policy ? policy->name : "";
}
policies::Limits tenant_limits_of(const Seen& s) {
  const auto policy = s.services.members.of(s.tenant.name()).policy;
  return policy ? policy->limits.maximum : policies::Limits{};
}
uint32_t max_running_of(const Seen& s) {
  const auto policy = s.services.members.of(s.tenant.name()).policy;
  return policy ? policy->concurrent_executions : 0;
}
uint32_t connections_of(const Seen& s) { return s.services.members.of(s.tenant.name()).count; }
uint32_t running_of(const Seen& s) { return s.services.executions.count(s.tenant.name(), executions::Stage::running); }
uint32_t waiting_of(const Seen& s) { return s.services.executions.count(s.tenant.name(), executions::Stage::waiting); }
uint64_t executions_of(const Seen& s) { return s.services.executions.totals_of(s.tenant.name()).executions; }
executions::Counts outcomes_of(const Seen& s) { return s.services.executions.totals_of(s.tenant.name()).outcomes; }
uint64_t tenant_cpu_of(const Seen& s) { return s.services.executions.totals_of(s.tenant.name()).cpu_us; }
uint64_t bytes_of(const Seen& s) { return s.tenant.workspace().quota().usage().bytes; }
uint64_t files_of(const Seen& s) { return s.tenant.workspace().quota().usage().files; }
uint64_t max_bytes_of(const Seen& s) { return s.tenant.workspace().quota().limits().bytes; }
uint64_t max_files_of(const Seen& s) { return s.tenant.workspace().quota().limits().files; }

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
uint32_t open_proposals_of(const Seen& s) { return held_proposals_of(s).open; }
uint64_t proposal_bytes_of(const Seen& s) { return held_proposals_of(s).bytes; }

struct TenantView {
  std::string name;
  tenants::Usage usage;
  tenants::QuotaLimits limits;
};
// The workspaces used since the daemon started; the tenant's default workspace comes first.
std::vector<TenantView> workspaces_of(const Seen& s) {
  std::vector<TenantView> all;
  for (const auto& item : s.services.registry.of_account(s.tenant.name())) {
    const auto& quota = item->workspace().quota();
    const std::string name = item->is_workspace() ? item->id().workspace : "default";
    all.push_back({name, quota.usage(), quota.limits()});
  }
  return all;
}

int append_workspaces(sd_bus_message* to, const std::vector<TenantView>& workspaces) {
  int r = sd_bus_message_open_container(to, 'a', "(stttt)");
  for (const TenantView& workspace : workspaces)
    if (r >= 0)
      r = sd_bus_message_append(to, "(stttt)", workspace.name.c_str(), workspace.usage.bytes, workspace.usage.files,
                                workspace.limits.bytes, workspace.limits.files);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

template <auto Of>
int tenant_property(sd_bus*, const char* path, const char*, const char*, sd_bus_message* reply, void* data,
                    sd_bus_error*) {
  const auto& objects = *static_cast<BusObjects*>(data);
  const auto tenant = objects.tenant_at(path);
  return tenant ? append(reply, Of(Seen{objects.services(), *tenant})) : -ENOENT;
}
int workspaces_property(sd_bus*, const char* path, const char*, const char*, sd_bus_message* reply, void* data,
                        sd_bus_error*) {
  const auto& objects = *static_cast<BusObjects*>(data);
  const auto tenant = objects.tenant_at(path);
  return tenant ? append_workspaces(reply, workspaces_of(Seen{objects.services(), *tenant})) : -ENOENT;
}

}  // namespace

const sd_bus_vtable kTenantTable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Name", "s", tenant_property<name_of>, 0, kConst),
    SD_BUS_PROPERTY("Policy", "s", tenant_property<tenant_policy_of>, 0, 0),
    SD_BUS_PROPERTY("Limits", "a{sv}", tenant_property<tenant_limits_of>, 0, 0),
    SD_BUS_PROPERTY("MostRunning", "u", tenant_property<max_running_of>, 0, 0),
    SD_BUS_PROPERTY("Connections", "u", tenant_property<connections_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Running", "u", tenant_property<running_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Waiting", "u", tenant_property<waiting_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Executions", "t", tenant_property<executions_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("Outcomes", "a{st}", tenant_property<outcomes_of>, 0, 0),
    SD_BUS_PROPERTY("CPUUsageUSec", "t", tenant_property<tenant_cpu_of>, 0, 0),
    SD_BUS_PROPERTY("WorkspaceBytes", "t", tenant_property<bytes_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("WorkspaceFiles", "t", tenant_property<files_of>, 0, kAnnounced),
    SD_BUS_PROPERTY("QuotaBytes", "t", tenant_property<max_bytes_of>, 0, 0),
    SD_BUS_PROPERTY("QuotaFiles", "t", tenant_property<max_files_of>, 0, 0),
    SD_BUS_PROPERTY("OpenProposals", "u", tenant_property<open_proposals_of>, 0, 0),
    SD_BUS_PROPERTY("ProposalBytes", "t", tenant_property<proposal_bytes_of>, 0, 0),
    SD_BUS_PROPERTY("Workspaces", "a(stttt)", workspaces_property, 0, 0),
    SD_BUS_VTABLE_END,
};

}  // namespace bus
