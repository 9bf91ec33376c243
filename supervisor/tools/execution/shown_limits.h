// What a tenant's list of tools says of execute_code: the limits and languages of its own policy.
// Used by: the daemon, for tools/list. Asking for more is no error: it is given what there is, and told so.
#pragma once
#include <string>
#include <string_view>

#include "policies/policy.h"
#include "supervisor/mcp/registry.h"

namespace tools {

// The same text for policies whose lists are alike: a JSON object of parameters and their schemas.
std::string shown_limits(const policies::Policy& policy);

// Puts such a text into the definition of execute_code; other tools stay as they are.
void show_limits(mcp::ToolDefinition& tool, std::string_view shown);

}  // namespace tools
