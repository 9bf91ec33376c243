// The tool commit_workspace(proposal, action, paths?): what becomes of a staged program's changes. Offered where the
// policy stages workspaces. Where the policy says `ask`, a person approves each commit and undo, and sees the
// differences. What becomes of a proposal without this tool: runs/proposal_conclusion.h. Used by: supervisor/daemon/.
// Errors: those of ProposalStore, and denied, with the rule workspace.commit.
#pragma once
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tools/operation.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace tools {

void add_commit_workspace(const OperationRegistry& registry, calls::CallEnvironment& calls,
                          proposals::ProposalStores& stores);
mcp::ToolDefinition commit_workspace_definition();
// Whether the tool is listed for the policy.
bool offers_commit(const policies::Policy& policy);

}  // namespace tools
