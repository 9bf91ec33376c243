#include "supervisor/executions/runs/answer_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/base/trimmed.h"

namespace runs {
namespace {

using jail::Language;

constexpr size_t kSearchedBytes = 512 << 10;  // of the code of earlier executions, after a failure
constexpr size_t kExportBytes = 64 << 10;     // the same, after each shell program that reads variables
constexpr size_t kMaxName = 80, kErrorBytes = 4096;

bool is_in_name(char c) { return is_word(c) || c == '$'; }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), is_in_name) &&
         !is_digit(text[0]);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, std::find_if_not(text.begin(), text.end(), is_in_name) - text.begin());
}

// The text between `before` and `after`; empty: not there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == text.npos) return {};
  text.remove_prefix(at + before.size());
  const size_t end = text.find(after);
  return end == text.npos ? std::string_view() : text.substr(0, end);
}

std::string_view name_that_is_missing(Language language, const jail::Report& report, std::string_view words) {
  std::string_view name;
  if (language == Language::python && words.starts_with("NameError: ")) name = between(words, "name '", "' is not");
  if (jail::runs_in_node(language) && words.starts_with("ReferenceError: "))
    name = between(words, "ReferenceError: ", " is not defined");
  if (language == Language::shell && report.outcome != jail::Outcome::ok) {
    for (const std::string_view end : {": command not found", ": unbound variable", ": not found"}) {
      const std::string_view line = words.substr(0, words.find(end));
      if (line.size() == words.size() || !name.empty()) continue;
      name = line.substr(line.find_last_of(" \n") + 1);
    }
  }
  return is_name(name) ? name : std::string_view();
}

// A path below /tmp in the message of a file that is not there.
std::string_view file_that_is_missing(std::string_view words) {
  const size_t missing = std::min(words.find("No such file"), words.find("ENOENT"));
  const size_t at = words.find("/tmp/");
  if (missing == words.npos || at == words.npos) return {};
  const std::string_view path = words.substr(at, words.find_first_of("'\": \n)", at) - at);
  return path.size() > 5 && path.size() <= kMaxName ? path : std::string_view();
}

bool starts_with_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.starts_with(word); });
}

// Whether a line that has `name` between `before` and `behind` makes this name at the program's top level.
bool makes_name(std::string_view before, std::string_view behind, Language language) {
  behind = behind.substr(std::min(behind.find_first_not_of(" \t"), behind.size()));
  const bool is_assigned = behind.starts_with('=') && !behind.starts_with("==");
  if (language == Language::shell)
    return (before.empty() && (is_assigned || behind.starts_with("()"))) ||
           starts_with_one_of(before, {"export ", "declare ", "function ", "readonly "});
  if (jail::runs_in_node(language))
    return (before.empty() && is_assigned) ||
           starts_with_one_of(before, {"const ", "let ", "var ", "function ", "async function ", "class ", "import ",
                                       "globalThis.", "export "});
  const bool is_target =
      std::all_of(before.begin(), before.end(), [](char c) { return is_in_name(c) || c == ',' || c == ' '; });
  if (before == "def " || before == "async def " || before == "class " ||
      starts_with_one_of(before, {"import ", "from ", "for ", "with "}))
    return true;
  const bool is_one_of_targets = is_target && (before.empty() || before.find(',') != before.npos);
  return is_one_of_targets && (is_assigned || behind.starts_with(',') || behind.starts_with(':'));
}

bool defines(std::string_view code, std::string_view name, Language language) {
  for (size_t at = 0; (at = code.find(name, at)) != code.npos; at += name.size()) {
    const size_t end = at + name.size();
    if ((at > 0 && is_in_name(code[at - 1])) || (end < code.size() && is_in_name(code[end]))) continue;
    constexpr size_t kMaxBefore = 200;  // a definition stands near the begin of its line
    const size_t from = at > kMaxBefore ? at - kMaxBefore : 0;
    const size_t begin = code.substr(from, at - from).rfind('\n');
    if (begin == code.npos && from > 0) continue;
    const size_t line = begin == code.npos ? 0 : from + begin + 1;
    const std::string_view behind = code.substr(end, code.substr(end, kMaxBefore).find('\n'));
    if (makes_name(code.substr(line, at - line), behind, language)) return true;
  }
  return false;
}

std::string how_to_keep(const AdvisedExecution& execution) {
  if (execution.language == Language::shell)
    return "shell keeps nothing between calls: do both in one call, or keep data in files of /workspace";
  if (!execution.session.empty())
    return fmt::format("it did not run in this session: run it again with session=\"{}\"", execution.session);
  return "each call starts without the names of earlier calls: give both calls the same `session` to keep variables, "
         "functions and imports";
}

// Name and kind of the variable that the last statement at the top level assigns to; empty: it does something else.
std::string_view last_target(std::string_view code, Language language) {
  while (!code.empty()) {
    const size_t begin = code.rfind('\n') + 1;  // npos + 1 is 0
    std::string_view line = trimmed_end(code.substr(begin), " \t\r");
    code = code.substr(0, begin == 0 ? 0 : begin - 1);
    if (line.empty() || line.starts_with("#") || line.starts_with("//")) continue;
    if (std::string_view(" \t)]}").find(line[0]) != std::string_view::npos) continue;
    if (jail::runs_in_node(language)) {
      if (line.starts_with("export ")) line.remove_prefix(7);
      const size_t blank = line.find(' ');
      if (!starts_with_one_of(line, {"const ", "let ", "var "})) return {};
      line.remove_prefix(blank + 1);
    }
    const std::string_view name = first_word(line);
    std::string_view behind = trimmed(line.substr(name.size()));
    if (behind.starts_with(':')) behind = behind.substr(std::min(behind.find('='), behind.size()));
    return is_name(name) && behind.starts_with('=') && !behind.starts_with("==") && !behind.starts_with("=>")
               ? name
               : std::string_view();
  }
  return {};
}

// Python: `result` is assigned in a function, and nowhere at the top level.
bool sets_result_in_function(std::string_view code) {
  bool in_function = false, is_set = false;
  while (!code.empty()) {
    const std::string_view line = *take_line(code), bare = trimmed(line);
    const bool is_top = line.size() == bare.size() || (!line.empty() && line[0] != ' ' && line[0] != '\t');
    if (is_top && !bare.empty()) in_function = starts_with_one_of(bare, {"def ", "async def "});
    if (!bare.starts_with("result")) continue;
    const std::string_view behind = trimmed(bare.substr(6));
    if (!behind.starts_with('=') || behind.starts_with("==")) continue;
    if (is_top) return false;
    is_set = is_set || in_function;
  }
  return is_set;
}

}  // namespace

std::string earlier_name_advice(const executions::RecentCode& recent, const AdvisedExecution& execution,
                                const jail::Report& report) {
  const bool is_shell = execution.language == Language::shell;
  const std::string_view words = std::string_view(is_shell ? report.err.text : report.error).substr(0, kErrorBytes);
  const std::string_view name = name_that_is_missing(execution.language, report, words);
  const std::string_view file = name.empty() ? file_that_is_missing(words) : std::string_view();
  if (name.empty() && file.empty()) return {};
  for (const auto& earlier : recent.earlier(execution.tenant, execution.id, kSearchedBytes)) {
    if (!file.empty() && earlier.text->find(file) != std::string::npos)
      return fmt::format("the earlier execution {} names {}, and each call has a /tmp of its own: use /workspace{}",
                         earlier.execution, file, is_shell ? "" : ", or one `session`");
    const auto language = jail::find_language(earlier.language);
    const bool is_alike = language && (*language == execution.language ||
                                       (jail::runs_in_node(*language) && jail::runs_in_node(execution.language)));
    if (name.empty() || !is_alike || !defines(*earlier.text, name, execution.language)) continue;
    return fmt::format("the earlier execution {} defined `{}`: {}", earlier.execution, name, how_to_keep(execution));
  }
  return {};
}

std::string earlier_export_advice(const executions::RecentCode& recent, const AdvisedExecution& execution,
                                  std::string_view code) {
  constexpr size_t kMaxNames = 100;
  code = code.substr(0, kExportBytes);
  std::set<std::string_view> read;
  for (size_t at = 0; (at = code.find('$', at)) != code.npos && read.size() < kMaxNames;) {
    at++;
    if (at < code.size() && code[at] == '{') at++;
    const size_t begin = at;
    while (at < code.size() && is_in_name(code[at]) && code[at] != '$') at++;
    if (at > begin) read.insert(code.substr(begin, at - begin));
  }
  if (read.empty()) return {};
  for (const auto& earlier : recent.earlier(execution.tenant, execution.id, kExportBytes)) {
    if (earlier.language != "shell") continue;
    const std::string_view text = *earlier.text;
    for (size_t at = 0; (at = text.find("export ", at)) != text.npos;) {
      const bool is_command = at == 0 || std::string_view("\n ;&").find(text[at - 1]) != std::string_view::npos;
      at += 7;
      const std::string_view name = first_word(text.substr(at, kMaxName));
      if (!is_command || !read.contains(name) || text.substr(at + name.size(), 1) != "=") continue;
      if (code.find(std::string(name) + "=") != code.npos || code.find("read " + std::string(name)) != code.npos)
        continue;
      return fmt::format("`{}` is not set here: the earlier execution {} exported it, and {}", name, earlier.execution,
                         how_to_keep(execution));
    }
  }
  return {};
}

std::string null_result_advice(std::string_view code, Language language, const jail::Report& report) {
  constexpr std::string_view kNobody =
      "no person can type here, and standard input is empty: give values in context_vars";
  if (language == Language::shell)
    return starts_with_one_of(code, {"read -p", "read -rp"}) || code.find("\nread -p") != code.npos ||
                   code.find("\nread -rp") != code.npos
               ? std::string(kNobody)
               : std::string();
  if (report.outcome != jail::Outcome::ok || (report.value && !report.value->is_null()) || !report.images.empty())
    return {};
  if (jail::runs_in_node(language) && code.find("readline") != code.npos && code.find("question(") != code.npos)
    return std::string(kNobody);
  if (report.out.bytes > 0 || code.find("\"\"\"") != code.npos || code.find("'''") != code.npos) return {};
  if (const std::string_view name = last_target(code, language); !name.empty() && name != "result")
    return fmt::format(
        "the result is null: the program ends by assigning to `{}`; end it with the line `{}`, or assign to "
        "`result`",
        name, name);
  if (language == Language::python && sets_result_in_function(code))
    return "the result is null: `result` is assigned inside a function, where it is a local variable; return the "
           "value, "
           "and assign it to `result` at the top level";
  return {};
}

}  // namespace runs
