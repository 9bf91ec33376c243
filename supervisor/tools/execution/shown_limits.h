// Shown limits: the limits and languages of a tenant's own policy in the schema of execute_code, and the packages of
// its layers and the hosts of its egress rules in the description. Source: policies::Policy. Used by:
// supervisor/daemon/, for tools/list. A call with a larger value is no error: the execution gets the policy's maximum,
// and the answer names it in `clamped`.
#pragma once
#include <string>
#include <string_view>

#include "policies/policy_fwd.h"
#include "supervisor/protocol/mcp/registry.h"

namespace tools {

// A JSON object of parameters and their schemas; null: the policy does not let a call choose it. The member of an empty
// name: a sentence for the description. Policies with the same limits, languages and packages have the same text.
std::string shown_limits(const policies::Policy& policy);

// Puts the text of shown_limits() into the definition of execute_code. Other tools stay unchanged.
void show_limits(mcp::ToolDefinition& tool, std::string_view text);

}  // namespace tools
