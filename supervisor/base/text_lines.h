// The lines of a text in memory. For bytes that are still coming: line_splitter.h. No errors.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Removes the first line from `text` and returns it without its newline, which the last line may lack. nullopt: the
// text is empty.
inline std::optional<std::string_view> take_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

enum class EmptyLines { included, left_out };
inline std::vector<std::string> lines_in(std::string_view text, EmptyLines empty) {
  std::vector<std::string> lines;
  while (const auto line = take_line(text))
    if (!line->empty() || empty == EmptyLines::included) lines.emplace_back(*line);
  return lines;
}
