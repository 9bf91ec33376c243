// Text for people: sizes, times, and tables that fit a terminal. Used by: the commands of warder-admin.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace admin {

std::string bytes_text(uint64_t bytes);  // "0", "9.4M"
std::string usec_text(uint64_t usec);    // "3.1ms", "12.0s", "4m05s"
// The same for numbers that may not be known: "-".
std::string known_bytes_text(std::optional<uint64_t> bytes);
std::string known_usec_text(std::optional<uint64_t> usec);

// `text` as printable ASCII of the same length: every other byte becomes '?'.
std::string harmless(std::string text);

enum class Align { left, right };
enum class Fit { full, shrinks };  // shrinks: this column becomes narrower if the table is too wide
struct Column {
  std::string title;
  Align align = Align::left;
  Fit fit = Fit::full;
};
using Line = std::vector<std::string>;
// The lines of a table, each made harmless(), of at most `width` bytes (0: no limit). The titles are the first line.
std::vector<std::string> table(const std::vector<Column>& columns, const std::vector<Line>& lines, size_t width);

// The width of the terminal on standard output, in characters; 0: standard output is no terminal.
size_t terminal_width();

}  // namespace admin
