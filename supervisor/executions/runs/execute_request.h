// The arguments of execute_code, and the jail::Request that they ask for under a policy.
// Errors: invalid, denied (languages), each with the rule and the remedy.
#pragma once
#include <memory>
#include <vector>

#include "jail/execution/execution.h"
#include "policies/limits.h"
#include "policies/policy_fwd.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/workflows/workflow.h"
#include "supervisor/tenants/tenant.h"

namespace runs {

struct ExecuteRequest {
  jail::Request jail;
  std::vector<policies::Clamp> clamped;  // limits that were asked for and are more than the policy allows
  std::vector<std::string> notes;        // what was left out of the code (executions/sent_code.h)
};
// Takes the code out of `arguments`. `tenant` must outlive the request, which borrows its workspace.
Result<ExecuteRequest> read_execute_request(tenants::Tenant& tenant, const policies::Policy& policy, Json& arguments);

// Python code that uses a workflow gets the tenant's seed of text hashes: a set then has the same order in each run.
// Code of a session runs in the session's interpreter, whose seed is drawn.
void set_hash_seed(ExecuteRequest& request, const Json& arguments, const workflows::WorkflowDisk& disk);

// Errors: a session is reset and has no name; the name is malformed; the language keeps no variables.
Result<> check_session_arguments(const Json& arguments);
// Errors, naming the argument: a stateless execution has no session, no background and no proposal.
Result<> check_stateless_arguments(const Json& arguments);
// Errors, naming `fork`: no items, more than the policy allows, a context variable `item`, a session
// of another language than Python, a new session.
Result<> check_fork_arguments(const policies::Policy& policy, const Json& arguments);
// Empty code and reset_session: the session ends, and no program runs.
bool only_ends_session(const jail::Request& request, const Json& arguments);

}  // namespace runs
