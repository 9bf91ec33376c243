#include "policies/policy_parts.h"

#include "policies/policy.h"

namespace policies {

const std::string& name_of(const Policy& policy) { return policy.name; }
const Ceilings& limits_of(const Policy& policy) { return policy.limits; }
const StagingRules& staging_of(const Policy& policy) { return policy.staging; }
const CallRules& calls_of(const Policy& policy) { return policy.calls; }
const PiiRules& pii_of(const Policy& policy) { return policy.pii; }
LearningScope learning_of(const Policy& policy) { return policy.learning; }

}  // namespace policies
