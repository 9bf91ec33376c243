// Which files of a workspace programs make for themselves. No errors.
#pragma once
#include <algorithm>
#include <string_view>

namespace tenants {

// Whether the path, from the workspace's top, is a compiled Python module: imports create and replace these. Lists of
// changed files leave them out.
inline bool is_of_interpreter(std::string_view path) {
  constexpr std::string_view kFolder = "__pycache__/";
  const size_t at = path.find(kFolder);
  return at != path.npos && (at == 0 || path[at - 1] == '/');
}

// The folder of a tool's own files that the path is in, with its last slash: ".git/", "app/node_modules/"; empty: it is
// in none. Lists of changed files count such files where they are many.
inline std::string_view managed_folder(std::string_view path) {
  constexpr std::string_view kFolders[] = {".git", ".hg",         ".svn",          "node_modules", ".venv", "venv",
                                           ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache",  ".cache"};
  for (size_t begin = 0, slash; (slash = path.find('/', begin)) != path.npos; begin = slash + 1)
    if (std::ranges::find(kFolders, path.substr(begin, slash - begin)) != std::end(kFolders))
      return path.substr(0, slash + 1);
  return {};
}

}  // namespace tenants
