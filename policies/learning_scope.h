// LearningScope: the searches that search_tools learns from. off: no searches. tenant: each tenant's searches, for that
// tenant only. shared: the searches of all tenants with a shared policy, together.
// Source: "discovery" of a policy. Applied by supervisor/upstream/discovery/search_learning.h. No errors.
#pragma once

namespace policies {

enum class LearningScope { off, tenant, shared };

}  // namespace policies
