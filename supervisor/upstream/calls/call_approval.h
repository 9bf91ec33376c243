// await_approval(): the wait of a call with the verdict `ask` for the decision of a person. The call's jail is frozen
// meanwhile, and the decision is written into the audit chain.
// Used by: upstream_call.cc, tools/proposals/. Errors: denied, with the rule, the name of the person or the cause, and
// the remedy; invalid: more arguments than a person can be shown; exhausted: too many calls wait, or the vault for
// personal data is full; unavailable: the daemon is ending.
#pragma once
#include "policies/call_rules.h"
#include "supervisor/upstream/calls/audited_call.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace calls {

// Returns when the call may be made, with the name of the approver, for example "user 0 over D-Bus". `params`: the
// arguments as the caller gave them, before tokens are restored. `exact`: the arguments of the call that will be made.
// All references must outlive the task.
Task<Result<std::string>> await_approval(CallEnvironment& environment, const CallContext& context, const Target& target,
                                         const policies::CallRules::Decision& decision, Json params, const Json& exact);

// What a person is asked. `given`: what is shown, with personal data as tokens.
struct PersonsQuestion {
  std::string tool, rule, why;
  Json given;
};
// Asks about any action of the caller, as the policy's `calls.approval` says, and writes rule, verdict and person into
// `audited`. Returns the verdict. `exact`: shown to those whose policy allows a look at personal data.
Task<Result<ApprovalVerdict>> ask_person(CallEnvironment& environment, const CallContext& context, AuditedCall& audited,
                                         PersonsQuestion question, const Json& exact);
// Why an action was not approved, after its name: "needs an approval, and ...". `lasted`: the time for the answer.
std::string cause_of(const ApprovalVerdict& verdict, std::chrono::seconds lasted);

// The arguments as JSON in ASCII, always complete: code could hide a harmful value in a part that is left out.
// Errors: invalid: more than 16,000 characters.
Result<std::string> shown_arguments(const Json& arguments);

}  // namespace calls
