// IgnoredFiles: which paths the .gitignore file at the top of a workspace leaves out, so that a list of changed files
// counts them only. Patterns as gitignore(5) has them, with one difference: a path that a pattern with `!` fits is
// never ignored, wherever that pattern stands. Source: the text of the file, which is hostile: at most
// kMaxIgnoreBytes and kMaxIgnorePatterns of it are used, and a match takes time in the length of the path. Used by:
// code_execution.cc. No errors: a line that is no pattern fits no path.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace runs {

constexpr size_t kMaxIgnoreBytes = 8 << 10;
constexpr size_t kMaxIgnorePatterns = 200;

class IgnoredFiles {
 public:
  explicit IgnoredFiles(std::string_view text = {});
  bool contains(std::string_view path) const;  // from the workspace's top

 private:
  std::shared_ptr<const re2::RE2> ignored_, never_;  // nullptr: fits no path
};

}  // namespace runs
