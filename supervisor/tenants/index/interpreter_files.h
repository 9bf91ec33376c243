// Which files of a workspace interpreters make for themselves. Lists of changed files leave them out. No errors.
#pragma once
#include <string_view>

namespace tenants {

// Whether the path, from the workspace's top, is a compiled Python module: imports create and replace these.
inline bool is_of_interpreter(std::string_view path) {
  constexpr std::string_view kFolder = "__pycache__/";
  const size_t at = path.find(kFolder);
  return at != path.npos && (at == 0 || path[at - 1] == '/');
}

}  // namespace tenants
