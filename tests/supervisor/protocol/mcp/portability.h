// portability_problems(): the reasons why a tool's definition does not work in every client. For tests of the daemon's
// own tools.
#pragma once
#include <string>
#include <vector>

#include "supervisor/protocol/mcp/registry.h"

namespace mcp_test {

// One sentence for each reason, with the tool's name; empty: the definition works in all clients.
std::vector<std::string> portability_problems(const mcp::ToolDefinition& tool);

}  // namespace mcp_test
