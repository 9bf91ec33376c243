// The tool commit_workspace(proposal, action, paths?): what becomes of a staged program's changes. Offered where the
// policy stages workspaces. Where the policy says `ask`, a person approves each commit and undo, and sees the
// differences. conclude_proposal() is the same decision at the end of an execution: the policy `auto` commits the
// changes of a program that ended well, and discards those of any other. Used by: supervisor/daemon/,
// tools/execution/code_execution.cc. Errors: those of ProposalStore, and denied, with the rule workspace.commit.
#pragma once
#include "jail/outcome.h"
#include "supervisor/calls/upstream_call.h"
#include "supervisor/proposals/proposal_stores.h"
#include "supervisor/tools/operation.h"

namespace tools {

void add_commit_workspace(const OperationRegistry& registry, calls::CallEnvironment& calls,
                          proposals::ProposalStores& stores);
mcp::ToolDefinition commit_workspace_definition();
// Whether the tool is listed for the policy.
bool offers_commit(const policies::Policy& policy);

// The key `proposal` of an answer of execute_code, with up to `diff_bytes` of its difference. All that is referred to
// must outlive the task.
Task<Json> conclude_proposal(proposals::ProposalStores& stores, const tenants::Requester& requester,
                             proposals::Proposal proposal, jail::Outcome outcome, size_t diff_bytes);

}  // namespace tools
