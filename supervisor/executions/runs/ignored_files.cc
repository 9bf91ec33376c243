#include "supervisor/executions/runs/ignored_files.h"

#include <re2/re2.h>

#include <memory>

#include "supervisor/base/text_lines.h"
#include "supervisor/base/work_meter.h"

namespace runs {
namespace {

// `[a-z]` and `[!0-9]`; without an end, the bracket itself.
std::string class_of(std::string_view pattern, size_t& at) {
  const size_t end = pattern.find(']', at + 2);
  if (end == pattern.npos) return "\\[";
  std::string_view inside = pattern.substr(at + 1, end - at - 1);
  if (inside == "!" || inside == "^") return "\\[";
  at = end;
  std::string text = "[";
  if (inside.front() == '!' || inside.front() == '^') text += '^', inside.remove_prefix(1);
  for (const char c : inside) {
    if (c == '[' || c == ']' || c == '\\' || c == '^' || c == '/') text += '\\';
    text += c;
  }
  return text + "]";
}

// The regular expression of one pattern, for whole paths.
std::string expression_of(std::string_view pattern) {
  const bool is_folder = pattern.ends_with('/');
  if (is_folder) pattern.remove_suffix(1);
  const bool is_at_top = pattern.find('/') != pattern.npos;
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  std::string text = is_at_top ? "" : "(?:.*/)?";
  for (size_t at = 0; at < pattern.size(); at++) {
    const std::string_view rest = pattern.substr(at);
    if (rest.starts_with("**/")) {
      text += "(?:.*/)?";
      at += 2;
    } else if (rest.starts_with("**")) {
      text += ".*";
      at += 1;
    } else if (rest[0] == '*') {
      text += "[^/]*";
    } else if (rest[0] == '?') {
      text += "[^/]";
    } else if (rest[0] == '[') {
      text += class_of(pattern, at);
    } else {
      if (rest[0] == '\\' && rest.size() > 1) at++;
      text += re2::RE2::QuoteMeta(re2::StringPiece(pattern.data() + at, 1));
    }
  }
  return text + (is_folder ? "/.*" : "(?:/.*)?");
}

std::shared_ptr<const re2::RE2> compiled(const std::string& expression) {
  if (expression.empty()) return nullptr;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // paths are bytes
  options.set_dot_nl(true);
  options.set_max_mem(1 << 20);
  auto match = std::make_shared<const re2::RE2>(expression, options);
  return match->ok() ? match : nullptr;
}

struct Patterns {
  std::shared_ptr<const re2::RE2> ignored, never;  // nullptr: fits no path
};

Patterns patterns_of(std::string_view text) {
  if (text.size() >= kMaxIgnoreBytes) {  // the last line may be a part of one
    text = text.substr(0, kMaxIgnoreBytes);
    text = text.substr(0, text.rfind('\n') + 1);
  }
  std::string ignored, never;
  for (size_t patterns = 0; !text.empty() && patterns < kMaxIgnorePatterns; patterns++) {
    std::string_view line = *take_line(text);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    const bool is_exception = line.starts_with('!');
    if (is_exception) line.remove_prefix(1);
    if (line.empty() || line.starts_with('#') || line == "/") continue;
    const std::string expression = expression_of(line);
    if (line.find('[') != line.npos && !compiled(expression)) continue;  // a range from z to a
    std::string& all = is_exception ? never : ignored;
    all += (all.empty() ? "" : "|") + expression;
  }
  return {compiled(ignored), compiled(never)};
}

}  // namespace

IgnoredFiles::IgnoredFiles(std::string_view text, const std::vector<std::string>& paths) {
  const Patterns patterns = patterns_of(text);
  if (!patterns.ignored) return;
  const auto end = thread_time() + kMaxIgnoreTime;
  for (const std::string& path : paths) {
    if (path.size() > kMaxIgnoredPath) continue;
    if (thread_time() > end) return;
    if (re2::RE2::FullMatch(path, *patterns.ignored) && !(patterns.never && re2::RE2::FullMatch(path, *patterns.never)))
      paths_.insert(path);
  }
}

}  // namespace runs
