// Text for people: sizes, times, tables that fit a terminal.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace admin {

std::string bytes_text(uint64_t bytes);  // "0", "9.4M"
std::string usec_text(uint64_t usec);    // "3.1ms", "12s", "4m05s"

// `text` as printable ASCII of the same length: what is not becomes '?'.
std::string harmless(std::string text);

enum class Align { left, right };
enum class Fit { whole, shrinks };  // shrinks: this column gives way when there is not the width for all
struct Column {
  std::string title;
  Align align = Align::left;
  Fit fit = Fit::whole;
};
using Line = std::vector<std::string>;
// Harmless lines of at most `width` bytes (0: as long as it takes), the one with the titles first.
std::vector<std::string> table(const std::vector<Column>& columns, const std::vector<Line>& lines, size_t width);

// Of the terminal on standard output; 0: there is none.
size_t terminal_width();
size_t terminal_height();

}  // namespace admin
