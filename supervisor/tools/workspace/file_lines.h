// Lines of a file: a range of lines by number, or the lines in which a pattern is found (RE2). What is read, shown and
// matched is bounded, and also the time; `next_line` says where to go on.
// Source: read_workspace_file.cc, in a job of Work. Errors: invalid, naming `pattern`; exhausted: a line is too long
// for the pattern; those of the reader and of the meter.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"
#include "supervisor/tenants/workspace.h"

namespace tools {

// Reads a range of the file. A range that would begin in the gap of a stored output begins at its end.
using RangeReader = std::function<Result<tenants::FileRange>(uint64_t offset, size_t limit)>;

struct LineQuery {
  uint64_t first = 1, last = UINT64_MAX;
  std::optional<std::string> pattern;  // nullopt: all lines
};

struct MatchedLines {
  std::string text;  // whole lines, UTF-8; with a pattern, each begins with its number and a colon, as grep -n has it
  uint64_t count = 0;
  uint64_t first = 0, last = 0;       // numbers of the first and the last line in `text`; 0: there is none
  std::optional<uint64_t> next_line;  // where it stopped; nullopt: at the end of the query
  std::optional<uint64_t> all_lines;  // of the file, if its end was reached
  uint64_t cut = 0;                   // lines that are shown in part
};
Result<MatchedLines> find_lines(const RangeReader& read, const LineQuery& query, WorkMeter& meter);

}  // namespace tools
