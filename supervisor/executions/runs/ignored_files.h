// IgnoredFiles: which of the changed paths the .gitignore file at the top of a workspace leaves out, so that a list of
// changed files counts them only. Patterns as gitignore(5) has them, with one difference: a path that a pattern with
// `!` fits is never ignored, wherever that pattern stands. Source: the text of the file and the paths, both hostile, so
// this is work for a thread beside the loop: at most kMaxIgnoreBytes and kMaxIgnorePatterns of the text are used, a
// path of more than kMaxIgnoredPath bytes is not ignored, and after kMaxIgnoreTime of the thread's processor time no
// further path is. Used by: code_execution.cc. No errors: a line that is no pattern fits no path.
#pragma once
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace runs {

constexpr size_t kMaxIgnoreBytes = 8 << 10;
constexpr size_t kMaxIgnorePatterns = 200;
constexpr size_t kMaxIgnoredPath = 256;  // a path of 4,000 bytes can take 180 ms against hostile patterns, measured
constexpr std::chrono::milliseconds kMaxIgnoreTime{20};

class IgnoredFiles {
 public:
  IgnoredFiles() = default;  // no path
  // `paths`: from the workspace's top; a folder ends with a slash.
  IgnoredFiles(std::string_view text, const std::vector<std::string>& paths);
  bool contains(std::string_view path) const { return paths_.contains(path); }

 private:
  std::set<std::string, std::less<>> paths_;
};

}  // namespace runs
