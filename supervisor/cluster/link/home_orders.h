// Orders of warderd to its warder-node about homes (node_messages.h: "claim", "fence", "other", "homes", "drain",
// "lost", "seal_key", "open_key"). Those about homes are answered by the record in the cluster, not from memory.
// Used by: home_mover.h, home_receiver.h, moves.h. Errors: unavailable: warder-node or the cluster cannot be
// reached, and the order may be done or not; denied: it was not done, with the reason.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cluster/link/node_link.h"

namespace cluster {

// This node becomes the home, with the next epoch, if the home is `from` in `epoch` now. Also succeeds if the claim was
// made before. after_lease: first waits until the lease of `from` has ended, which takes 35 s; denied: it is alive.
enum class ClaimWhen { now, after_lease };
Task<Result<Home>> claim_home(NodeLink& link, tenants::TenantId id, std::string from, uint64_t epoch, ClaimWhen when);
// This node stays the home, with the next epoch, so that no claim of this epoch can succeed any longer; unless
// another node has claimed it already. Returns the home as it is then.
Task<Result<Home>> fence_home(NodeLink& link, tenants::TenantId id, uint64_t epoch);
// The present home of a workspace, before a restore here; a missing record is made. Errors: denied: it is
// alive.
Task<Result<Home>> lost_home(NodeLink& link, tenants::TenantId id);
// The node to move this workspace to. Errors: denied: no node may be the home.
Task<Result<std::string>> other_node(NodeLink& link, tenants::TenantId id);
// The workspaces of this node, sorted.
struct HeldHome {
  tenants::TenantId id;
  uint64_t epoch = 0;
};
Task<Result<std::vector<HeldHome>>> homes_here(NodeLink& link);
// The key of the workspace's vault, encrypted for each node that may have the account: node -> text. Only that node's
// warder-node can read it.
using VaultKey = std::array<unsigned char, 32>;
using SealedVaultKeys = std::map<std::string, std::string>;
Task<Result<SealedVaultKeys>> seal_vault_key(NodeLink& link, tenants::TenantId id, VaultKey key);
// The key in the text for this node. Errors: denied: it is for another key, or of another workspace.
Task<Result<VaultKey>> open_vault_key(NodeLink& link, tenants::TenantId id, std::string sealed);
// Whether this node gets new homes. It keeps the answer over restarts.
Task<Result<>> set_drained(NodeLink& link, bool is_drained);

}  // namespace cluster
