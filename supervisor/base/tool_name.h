// is_tool_name(): whether MCP allows a name for a tool: 1 to 128 letters, digits, '_', '-' and '.'.
#pragma once
#include <string_view>

inline bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == name.npos;
}
