// Shown limits: the limits and languages of a tenant's own policy in the schema of execute_code.
// Source: policies::Policy. Used by: supervisor/daemon/, for tools/list. A call with a larger value is no error: the
// execution gets the policy's maximum, and the answer names it in `clamped`.
#pragma once
#include <string>
#include <string_view>

#include "policies/policy.h"
#include "supervisor/mcp/registry.h"

namespace tools {

// A JSON object of parameters and their schemas; null: the policy does not let a call choose it. Policies with the same
// limits and languages have the same text.
std::string shown_limits(const policies::Policy& policy);

// Puts the text of shown_limits() into the definition of execute_code. Other tools stay unchanged.
void show_limits(mcp::ToolDefinition& tool, std::string_view shown);

}  // namespace tools
