// nearest_tool(): the tool of Warder that an unknown tool name probably means. Models know names of other servers for
// the same tool. Source: a name from a client. Used by: mcp::Server, for the text of an error only, never for a call.
#pragma once
#include <string_view>
#include <vector>

namespace tools {

// A name of `offered` with a similar spelling, or with the same meaning ("run_code", "bash",
// "mcp__warder__read_file"); empty: no name is near.
std::string_view nearest_tool(std::string_view name, const std::vector<std::string_view>& offered);

}  // namespace tools
