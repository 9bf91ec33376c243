// The jail that a policy gives to its executions.
#pragma once
#include "jail/execution.h"
#include "policies/policy.h"

namespace executions {

// The jail for executions of one language under these limits.
jail::Spec make_spec(const policies::Policy& policy, jail::Language language, const policies::Limits& limits);

}  // namespace executions
