// A call whose verdict is `ask`: what is shown of it, the wait with the jail held still, and what is written down.
// Errors: denied, with the rule, who said no, and the remedy; invalid: more than a person can be shown; exhausted: too
// many wait, or the vault for personal data is full; unavailable: the daemon is ending.
#pragma once
#include "policies/call_rules.h"
#include "supervisor/calls/audited_call.h"
#include "supervisor/calls/upstream_call.h"

namespace calls {

// Done when the call may be made, just so: who approved it. `given`: the arguments as the caller gave them, tokens in
// them not restored. All that is referred to outlives the task.
Task<Result<std::string>> await_approval(CallEnvironment& environment, const Who& who, const Target& target,
                                         const policies::CallRules::Decision& decision, Json given);

// JSON in ASCII, whole: the code that makes the call would choose what lies in a part that is left out.
// Errors: invalid: it takes more than 16,000 characters.
Result<std::string> shown_arguments(const Json& arguments);

}  // namespace calls
