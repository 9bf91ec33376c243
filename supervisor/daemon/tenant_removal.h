// TenantRemoval: removes a tenant with all its data: workspace, named workspaces, output, sessions'
// logs, skills, vault, files of upstream servers, learning from searches, and the rows of its executions. The audit
// chain stays, because it proves what happened; it holds shapes only, and gets an entry about the removal.
//
// Order, so that a killed daemon leaves no half-done removal: no client gets the tenant any longer; its executions,
// sessions and connections end; the cluster forgets that its workspaces are here (if it cannot, the removal continues
// only with force); its folder is renamed (from here on the removal is sure to be completed); the journal forgets it;
// the files are deleted, on a thread beside the loop. finish() does the rest of earlier removals. Used by:
// daemon_parts.cc, for RemoveTenant of D-Bus. Errors: not_found; denied: it is in use; unavailable: it is being
// removed, or was not released in time; those of the journal and the file system.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/worker_thread.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/removed_tenants.h"
#include "supervisor/tenants/tenant.h"

class TenantRemoval {
 public:
  struct Services {
    Loop& loop;
    tenants::Registry& registry;
    journal::Journal& journal;
    executions::ExecutionRegistry& executions;
    executions::Sessions& sessions;
    // Ends the tenant's waiting jails, connections of clients, and idle upstream servers. May be called several times.
    std::function<void(const std::string& tenant)> disconnect;
    // Deletes the data of the tenant or named workspace in memory, and elsewhere in the state folder.
    std::function<void(const tenants::TenantId& id)> forget;
    // Removes the records that say that this node is the home of the tenant's workspaces.
    std::function<Task<Result<>>(std::string tenant)> leave_cluster;
  };
  explicit TenantRemoval(Services services) : services_(std::move(services)), tasks_(services_.loop) {}
  TenantRemoval(const TenantRemoval&) = delete;

  // Returns when the tenant is gone for clients and journal. Its files are deleted after that. `uid`: of the
  // administrator, for the audit.
  Task<Result<>> remove(std::string name, tenants::RemovalForce force, uint32_t uid);
  // Call it before clients are served: completes removals of an earlier daemon. Deletes their files later.
  Task<> finish();

 private:
  Result<> check_unused(const std::string& name) const;
  Task<Result<>> end_uses(std::string name);
  Task<Result<>> leave_cluster(std::string name, tenants::RemovalForce force);
  Task<Result<>> forget(std::string name, tenants::RemovalForce force, uint32_t uid);
  Task<Result<>> leave_journal(tenants::RemovedTenant& removed, uint64_t& executions);
  void delete_files(tenants::RemovedTenant removed);
  Task<> delete_beside(tenants::RemovedTenant removed);

  Services services_;
  std::unique_ptr<WorkerThread> disk_;  // started for the first deletion
  Scope tasks_;                         // last: cancelled first
};
