// WorkspaceHomes: where the workspaces that nodes of a cluster share may run. Offered by the cluster's part. Without
// it, this machine is the home of all its workspaces. Used by: the daemon's parts.
#pragma once
#include <memory>
#include <string>

#include "policies/policy_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

class WorkspaceHomes {
 public:
  // Returns when this node may run programs of the workspace: at once, unless nodes of a cluster share it. Errors:
  // unavailable: another node is its home, or this node got no lease in time.
  virtual Task<Result<>> wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy) = 0;
  // Removes the records that say that this node is the home of the tenant's workspaces. Errors: unavailable.
  virtual Task<Result<>> leave(std::string tenant) = 0;

 protected:
  ~WorkspaceHomes() = default;
};
