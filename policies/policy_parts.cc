#include "policies/policy_parts.h"

#include "policies/policy.h"

namespace policies {

const std::string& name_of(const Policy& policy) { return policy.name; }
const std::string& hash_of(const Policy& policy) { return policy.hash; }
const EgressRules& egress_of(const Policy& policy) { return policy.egress; }
const Isolation& isolation_of(const Policy& policy) { return policy.isolation; }
const Ceilings& limits_of(const Policy& policy) { return policy.limits; }
const StagingRules& staging_of(const Policy& policy) { return policy.staging; }
const CallRules& calls_of(const Policy& policy) { return policy.calls; }
const PiiRules& pii_of(const Policy& policy) { return policy.pii; }
LearningScope learning_of(const Policy& policy) { return policy.learning; }
bool is_home_shared(const Policy& policy) { return policy.cluster.is_home_shared; }
bool allows_language(const Policy& policy, std::string_view language) { return policy.allows_language(language); }
bool offers_every_tool(const Policy& policy) { return policy.tools.every; }
bool offers_tool(const Policy& policy, std::string_view name) { return policy.tools.offers(name); }

}  // namespace policies
