// TenantRemoval: removes a tenant with all its data: workspace, named workspaces, output, sessions'
// logs, skills, vault, files of upstream servers, learning from searches, and the rows of its executions. The audit
// chain stays, because it proves what happened; it holds shapes only, and gets an entry about the removal.
//
// Order, so that a killed daemon leaves no half-done removal: no client gets the tenant any longer; its executions,
// sessions and connections end; the cluster forgets that its workspaces are here (if it cannot, the removal continues
// only with force); its folder is renamed (from here on the removal is sure to be completed); the journal forgets it;
// the files are deleted, on a thread beside the loop. finish() does the rest of earlier removals. Used by:
// bus_part.cc, for RemoveTenant of D-Bus. Errors: not_found; denied: it is in use; unavailable: it is being
// removed, or was not released in time; those of the journal and the file system.
#pragma once
#include <memory>
#include <string>

#include "supervisor/base/worker_thread.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/parts.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/removed_tenants.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/workspace_homes.h"

class TenantRemoval final : public Part, public Drainer {
 public:
  // All must outlive this object.
  TenantRemoval(const Parts& parts, Loop& loop, tenants::Registry& registry, journal::Journal& journal,
                executions::ExecutionRegistry& executions, executions::Sessions& sessions, ClientDoors& doors,
                WorkspaceHomes* homes);
  static Result<std::unique_ptr<TenantRemoval>> open(Parts& parts, Loop& loop, tenants::Registry& registry,
                                                     journal::Journal& journal,
                                                     executions::ExecutionRegistry& executions,
                                                     executions::Sessions& sessions, ClientDoors& doors,
                                                     WorkspaceHomes* homes);
  std::tuple<TenantRemoval&> services() { return {*this}; }

  // Returns when the tenant is gone for clients and journal. Its files are deleted after that. `uid`: of the
  // administrator, for the audit.
  Task<Result<>> remove(std::string name, tenants::RemovalForce force, uint32_t uid);
  // Call it before the parts begin: completes removals of an earlier daemon. Deletes their files later.
  Task<> finish();
  void disconnect() override { tasks_.cancel_all(); }

 private:
  Result<> check_unused(const std::string& name) const;
  Task<Result<>> end_uses(std::string name);
  Task<Result<>> leave_cluster(std::string name, tenants::RemovalForce force);
  Task<Result<>> forget(std::string name, tenants::RemovalForce force, uint32_t uid);
  Task<Result<>> leave_journal(tenants::RemovedTenant& removed, uint64_t& executions);
  void delete_files(tenants::RemovedTenant removed);
  Task<> delete_beside(tenants::RemovedTenant removed);

  const Parts& parts_;
  Loop& loop_;
  tenants::Registry& registry_;
  journal::Journal& journal_;
  executions::ExecutionRegistry& executions_;
  executions::Sessions& sessions_;
  ClientDoors& doors_;
  WorkspaceHomes* homes_;               // nullptr: no workspace is shared with other nodes
  std::unique_ptr<WorkerThread> disk_;  // started for the first deletion
  Scope tasks_;                         // last: cancelled first
};
