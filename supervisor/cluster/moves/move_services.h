// MoveServices: what moving a workspace needs of the rest of the daemon. Made by: supervisor/daemon/. Used by: the
// other headers of this folder. No errors.
#pragma once
#include <functional>

#include "policies/policy_fwd.h"
#include "policies/tenant_id.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/cluster/link/membership.h"
#include "supervisor/cluster/moves/move_files.h"
#include "supervisor/cluster/moves/move_records.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/tenants/proposals/proposal_stores.h"

namespace tenants {
class Registry;
}

namespace moves {

struct MoveServices {
  Loop& loop;
  cluster::NodeLink& link;
  cluster::MoveGate& gate;
  tenants::Registry& registry;
  const policies::Store& policies;
  executions::ExecutionRegistry& executions;
  executions::Sessions& sessions;
  proposals::ProposalStores& proposals;
  MoveFiles& files;
  WorkerThread& disk;  // one job at a time
  MoveRecords& records;
  std::function<tenants::VaultKeys(const std::string& tenant)> vault_keys;
  // Ends the idle upstream servers of the account, and the waiting jails; closes skills, vault and proposals of the
  // workspace.
  std::function<void(const tenants::TenantId& id)> close;
};

}  // namespace moves
