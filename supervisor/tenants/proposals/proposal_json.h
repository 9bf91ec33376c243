// Proposals as JSON, for answers of execute_code and commit_workspace, for resources and for D-Bus's callers.
// Used by: the tools, resources. Pure.
#pragma once
#include "supervisor/base/json/json_value.h"
#include "supervisor/tenants/proposals/proposal.h"

namespace proposals {

inline constexpr char kProposalScheme[] = "proposal:///";

// {id, state, diff?, conflicts?, refused?, problem?}. `diff`: may be empty.
Json proposal_json(const Proposal& proposal, const std::string& diff);
// {created, modified, deleted: [{path, bytes, bytes_before?}], omitted?}
Json staged_files_json(const StagedFiles& files);
// [{path, why}], with a last element {omitted} if there are more.
Json conflicts_json(const PathConflicts& conflicts);

}  // namespace proposals
