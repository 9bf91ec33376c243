// make_spec(): the jail that a policy gives to its executions. Used by: execute_request.cc, compile_check.cc,
// supervisor/daemon/self_examination.cc. No errors.
#pragma once
#include "jail/spec.h"
#include "policies/limits.h"
#include "policies/policy_fwd.h"

namespace executions {

jail::Spec make_spec(const policies::Policy& policy, jail::Language language, const policies::Limits& limits);

}  // namespace executions
