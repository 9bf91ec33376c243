// QuotaRules: limits for the data that a tenant keeps between executions.
// Source: "quota" of a policy. Applied by supervisor/tenants, and to the workspaces that move to this node. No errors.
#pragma once
#include <cstdint>

namespace policies {

struct QuotaRules {
  uint64_t workspace_bytes = 0;        // for each workspace
  uint64_t workspace_files = 0;        // files, directories and links
  uint32_t executions_kept = 0;        // executions with a full output that can be read later
  uint64_t executions_kept_bytes = 0;  // bytes of their outputs together
};

}  // namespace policies
