// Parts of a policy, for sources that need one of them and not the whole: these need not be compiled again when a
// policy gets a new key. The references live as long as the policy. Used by: calls, tools, the cluster, the daemon, and
// sources that name the policy to people. No errors.
#pragma once
#include <string>
#include <string_view>

#include "policies/policy_fwd.h"

namespace policies {

struct CallRules;          // call_rules.h
struct Ceilings;           // limits.h
struct EgressRules;        // egress_rules.h
struct Isolation;          // isolation.h
enum class LearningScope;  // learning_scope.h
struct PiiRules;           // pii/rules.h
struct StagingRules;       // staging_rules.h

const std::string& name_of(const Policy& policy);
const std::string& hash_of(const Policy& policy);
const EgressRules& egress_of(const Policy& policy);
const Isolation& isolation_of(const Policy& policy);
const Ceilings& limits_of(const Policy& policy);
const StagingRules& staging_of(const Policy& policy);
const CallRules& calls_of(const Policy& policy);
const PiiRules& pii_of(const Policy& policy);
LearningScope learning_of(const Policy& policy);
// Whether the workspaces have a home in a cluster, and may move.
bool is_home_shared(const Policy& policy);
bool allows_language(const Policy& policy, std::string_view language);
bool offers_every_tool(const Policy& policy);
bool offers_tool(const Policy& policy, std::string_view name);

}  // namespace policies
