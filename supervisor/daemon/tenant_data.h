// TenantData: the data of one tenant or named workspace that the parts hold beside its folder and the journal: closed,
// forgotten, expired. Source: the daemon's parts. Used by: DaemonParts, TenantRemoval, and moves of workspaces to
// other nodes. Errors: those of opening a vault.
#pragma once
#include <string>

#include "supervisor/base/worker_thread.h"
#include "supervisor/daemon/expected_jails.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/operations/metrics/busiest_tenants.h"
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/workflows/workflow_store.h"
#include "supervisor/tenants/master_key.h"
#include "supervisor/tenants/privacy/pii_vaults.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/upstream/discovery/search_learning.h"
#include "supervisor/upstream/upstream_servers.h"

class TenantData {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    tenants::Registry& registry;
    ExpectedJails& expected_jails;
    upstream::UpstreamServers& upstream;
    skill_stores::TenantSkills& skills;
    privacy::PiiVaults& vaults;
    discovery::SearchLearning& learning;
    executions::RecentCode& recent_code;
    proposals::ProposalStores& proposals;
    workflows::WorkflowStore& workflows;
    tasks::TaskStore& tasks;
    tasks::TaskStore& named;
    metrics::BusiestTenants& busiest_tenants;
  };
  explicit TenantData(const Parts& parts) : parts_(parts) {}
  TenantData(const TenantData&) = delete;

  // The tenant or named workspace was removed: deletes its data in memory and elsewhere in the state folder.
  void forget(const tenants::TenantId& id);
  // The workspace's folder will have other contents, or will be gone: closes its open files. No program runs in it.
  void close(const tenants::TenantId& id);
  // Closes all workspaces of a tenant. May be called several times.
  void close_account(const std::string& tenant);
  // Removes named workspaces, proposals and values of workflows when they expire. Never returns.
  Task<> expire();

 private:
  void close_stores(const tenants::TenantId& id);

  const Parts parts_;
};

// Opens the vault for personal data of a tenant, on the thread `disk`. References must outlive the task. Errors: those
// of SealedVault::open; internal: there is no tenant of this name.
Task<privacy::PiiVaults::Made> open_vault(Loop& loop, WorkerThread& disk, tenants::Registry& registry,
                                          const tenants::MasterKey& key, tenants::TenantId id);
