#include "supervisor/executions/code_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/trimmed.h"

namespace executions {
namespace {

constexpr size_t kShownLines = 4, kShownBytes = 60;

}  // namespace

CodeLines lines_of(std::string_view code) {
  CodeLines lines;
  for (size_t begin = 0; begin <= code.size();) {
    const size_t end = std::min(code.find('\n', begin), code.size());
    lines.push_back(code.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string text_of(const CodeLines& lines) {
  size_t count = lines.size(), bytes = 0;
  while (count > 0 && lines[count - 1].empty()) count--;
  for (size_t i = 0; i < count; i++) bytes += lines[i].size() + 1;
  std::string text;
  text.reserve(bytes);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) text += '\n';
    text += lines[i];
  }
  return text;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(kCodeBlanks) == line.npos; }

std::string_view indentation_of(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

std::string_view shared_indentation(const CodeLines& lines) {
  std::string_view shared;
  bool is_first = true;
  for (const std::string_view line : lines) {
    if (is_blank(line)) continue;
    const std::string_view own = indentation_of(line);
    if (std::exchange(is_first, false)) shared = own;
    const size_t max = std::min(shared.size(), own.size());
    shared = shared.substr(0, std::mismatch(shared.begin(), shared.begin() + max, own.begin()).first - shared.begin());
    if (shared.empty()) break;
  }
  return shared;
}

void remove_indentation(CodeLines& lines, std::string_view indentation) {
  for (std::string_view& line : lines)
    if (line.starts_with(indentation)) line.remove_prefix(indentation.size());
}

size_t first_full(const CodeLines& lines) {
  return std::find_if(lines.begin(), lines.end(), [](std::string_view line) { return !is_blank(line); }) -
         lines.begin();
}

std::string left_out_note(const CodeLines& left_out) {
  std::string note;
  size_t shown_count = 0, more = 0;
  for (std::string_view line : left_out) {
    line = trimmed(line, kCodeBlanks);
    if (line.empty()) continue;
    if (shown_count++ >= kShownLines) {
      more++;
      continue;
    }
    line = line.substr(0, kShownBytes);
    note += fmt::format("{}`{}`", note.empty() ? "; left out: " : ", ",
                        valid_utf8(line.substr(0, whole_utf8_prefix(line))));
  }
  if (more > 0) note += fmt::format(" and {} more line{}", more, more == 1 ? "" : "s");
  return note;
}

}  // namespace executions
