// Settling a workspace: its programs have ended and its data is on the disk, so that its folder can be packed.
// Used by: home_mover.h, home_receiver.h. The caller holds its requests (MoveGate). Errors: unavailable: executions or
// calls did not end in time, with their ids; denied: it has open proposals.
#pragma once
#include "supervisor/cluster/moves/move_services.h"

namespace moves {

constexpr std::chrono::seconds kSettleLimit{20};

// Waits for what runs, at most kSettleLimit; ends the sessions; closes all else. `services` must outlive the task.
Task<Result<>> settle_home(MoveServices& services, tenants::TenantId id);

// Whether requests or executions of the workspace run here now.
bool is_in_use(const MoveServices& services, const tenants::TenantId& id);

// The policy under which the workspace is used: of a connected client, or else the shared policy with the
// largest quota. Errors: not_found: no policy of this node shares workspaces.
Result<std::shared_ptr<const policies::Policy>> policy_of_home(const MoveServices& services,
                                                               const std::string& account);

// The error of a call whose work continues while the daemon ends.
tl::unexpected<Error> daemon_ends();

}  // namespace moves
