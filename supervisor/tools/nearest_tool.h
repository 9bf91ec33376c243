// Which of our tools somebody means who calls one that there is not: models know other servers' names for the same.
// Source: a name from a client. Used for the words of an error only, never to call anything.
#pragma once
#include <string_view>
#include <vector>

namespace tools {

// One of `offered`: spelled alike, or called by another word for the same ("run_code", "bash",
// "mcp__warder__read_file"); empty: none is near.
std::string_view nearest_tool(std::string_view name, const std::vector<std::string_view>& offered);

}  // namespace tools
