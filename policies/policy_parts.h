// Parts of a policy, for sources that need one of them and not the whole: these need not be compiled again when a
// policy gets a new key. The references live as long as the policy. Used by: upstream/calls, tools, and sources that
// name the policy to people. No errors.
#pragma once
#include <string>

#include "policies/policy_fwd.h"

namespace policies {

struct CallRules;          // call_rules.h
struct Ceilings;           // limits.h
enum class LearningScope;  // learning_scope.h
struct PiiRules;           // pii/rules.h
struct StagingRules;       // staging_rules.h

const std::string& name_of(const Policy& policy);
const Ceilings& limits_of(const Policy& policy);
const StagingRules& staging_of(const Policy& policy);
const CallRules& calls_of(const Policy& policy);
const PiiRules& pii_of(const Policy& policy);
LearningScope learning_of(const Policy& policy);

}  // namespace policies
