#include "supervisor/programs/cli/layers/requirements.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/base/trimmed.h"

namespace admin {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view without_comment(std::string_view line) {
  for (size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1))
    if (at == 0 || kBlanks.find(line[at - 1]) != kBlanks.npos) return line.substr(0, at);
  return line;
}

// Empty: pip takes the line as a name, its versions and hashes.
std::string_view fault_of(std::string_view line, bool is_continued) {
  if (std::any_of(line.begin(), line.end(), [](char c) { return (c < ' ' && c != '\t') || c > '~'; }))
    return "it has a character outside of printable ASCII";
  if (line.find('@') != line.npos) return "it has an @: packages come from the index only";
  if (line.find_first_of("/\\$") != line.npos) return "it has a URL, a path or a variable";
  if (!is_continued && !is_alnum(line.front()))
    return line.front() == '-' ? "it is an option" : "it does not begin with the name of a package";
  bool is_first = true;
  for (std::string_view rest = line; !rest.empty(); is_first = false) {
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
    rest = trimmed(rest.substr(word.size()));
    const bool is_hash = word.starts_with("--hash=");
    if (word.starts_with('-') && !is_hash) return "it has an option other than --hash";
    if (is_first && is_continued && !is_hash) return "it has a part other than --hash";
  }
  return {};
}

}  // namespace

Result<std::string> read_requirements(std::string_view text) {
  std::string all;
  bool is_continued = false;
  for (size_t number = 1; !text.empty(); number++) {
    std::string_view line = *take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(without_comment(line));
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line = trimmed(line.substr(0, line.size() - 1));
    if (line.empty() && !goes_on) {
      is_continued = false;
      continue;
    }
    const std::string_view fault = line.empty() ? "it has only a backslash" : fault_of(line, is_continued);
    if (!fault.empty())
      return fail(Code::invalid,
                  fmt::format("--requirements: line {} ('{}') is refused: {}", number,
                              printable(std::string(line), 100), fault),
                  "each line: NAME==VERSION, and --hash=sha256:... behind it; other wheels: --wheels FOLDER");
    // One line for each package: the hashes that follow a backslash come behind it.
    if (is_continued) all.back() = ' ';
    all += std::string(line) + "\n";
    is_continued = goes_on;
  }
  return all;
}

}  // namespace admin
