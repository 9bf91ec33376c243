// Line diff: the shortest list of lines to delete and to insert that makes one text another, as hunks of a unified
// diff. Source: two texts. Used by: text_diff.cc. Bounded: texts with more than kMaxLineEdits different lines are one
// hunk that replaces all lines between the equal ones at the beginning and at the end. Algorithm: Myers, "An O(ND)
// Difference Algorithm and Its Variations" (1986). No errors.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace proposals {

constexpr size_t kMaxLineEdits = 1000;
constexpr size_t kContextLines = 3;

// The lines of a text; each has its newline, but for a last line without one.
std::vector<std::string_view> split_lines(std::string_view text);

struct HunkLine {
  char mark = ' ';  // ' ', '-', '+'
  std::string_view text;
};
struct LineHunk {
  size_t old_begin = 0, old_count = 0;  // lines, from 0
  size_t new_begin = 0, new_count = 0;
  std::vector<HunkLine> lines;
};
// Empty for equal texts. The texts must outlive the hunks.
std::vector<LineHunk> line_hunks(std::string_view before, std::string_view after);

}  // namespace proposals
