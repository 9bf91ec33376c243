// conclude_proposal(): what becomes of a staged program's changes at the end of its execution. The policy `auto`
// commits the changes of a program that ended well, and discards those of any other; otherwise the proposal waits for
// commit_workspace. Source: code_execution.cc. A proposal that could not be concluded says why in its answer.
#pragma once
#include "jail/execution/outcome.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/requester.h"

namespace runs {

// The key `proposal` of an answer of execute_code, with up to `diff_bytes` of its difference. All that is referred to
// must outlive the task.
Task<Json> conclude_proposal(proposals::ProposalStores& stores, const tenants::Requester& requester,
                             proposals::Proposal proposal, jail::Outcome outcome, size_t diff_bytes);

}  // namespace runs
