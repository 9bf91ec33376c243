#include "supervisor/executions/sent_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/executions/code_fences.h"
#include "supervisor/executions/code_language.h"
#include "supervisor/executions/code_lines.h"
#include "supervisor/executions/code_prompts.h"

namespace executions {
namespace {

using jail::Language;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kSpace = " \t\r\n";

// Whether a repair could find something in the code. Most code needs only this.
bool may_need_repair(std::string_view code) {
  if (code.starts_with(kByteOrderMark)) return true;
  const size_t first = code.find_first_not_of(kSpace);
  if (first == code.npos) return false;
  const std::string_view begin = code.substr(first);
  const bool is_indented = first > 0 && (code[first - 1] == ' ' || code[first - 1] == '\t');
  if (is_indented || is_digit(begin[0]) || std::string_view("{<$>`~").find(begin[0]) != std::string_view::npos)
    return true;
  if (begin.starts_with("In [") || has_shell_prompt(begin.substr(0, begin.find('\n')))) return true;
  return code.find('\r') != code.npos || code.find("```") != code.npos || code.find("~~~") != code.npos;
}

void remove_byte_order_mark(SentCode& sent) {
  if (!sent.code.starts_with(kByteOrderMark)) return;
  sent.code.erase(0, kByteOrderMark.size());
  sent.notes.emplace_back("left out the byte order mark before the code");
}

// Python, JavaScript and TypeScript read CR LF as one line end, in texts, too. A shell takes the CR for a part of the
// last word.
void take_plain_line_ends(SentCode& sent, Language language) {
  std::string& code = sent.code;
  const size_t first = code.find("\r\n");
  if (first == code.npos) return;
  size_t to = first, count = 0;
  for (size_t from = first; from < code.size(); from++) {
    if (code[from] == '\r' && from + 1 < code.size() && code[from + 1] == '\n') {
      count++;
    } else {
      code[to++] = code[from];
    }
  }
  code.resize(to);
  if (language != Language::shell) return;
  sent.notes.push_back(
      fmt::format("the code had line ends of Windows: left out the carriage return of {} line{}, in here-documents, "
                  "too; printf '\\r\\n' writes one",
                  count, count == 1 ? "" : "s"));
}

Result<> check_language(std::string_view written, Language language, const char* where) {
  const auto named = language_of_word(lower_case(written));
  if (!named || is_same(*named, language)) return {};
  return wrong_language(fmt::format("{} says {}", where, name_of(*named)), *named, language);
}

// {"code": "...", "language": "python"}: the arguments of a call, sent as its code.
Result<> take_from_json(SentCode& sent, Language language) {
  constexpr std::array<std::string_view, 6> kArguments = {"code",      "language", "context_vars", "timeout_seconds",
                                                          "memory_mb", "session"};
  const std::string_view text = trimmed(sent.code, kSpace);
  if (!text.starts_with('{') || !text.ends_with('}')) return {};
  if (const size_t quote = text.find_first_not_of(kSpace, 1); quote == text.npos || text[quote] != '"') return {};
  if (text.find("\"code\"") == text.npos) return {};
  auto object = parse_json(text);
  if (!object || !object->is_object()) return {};
  std::string rest;
  for (const auto& [name, value] : object->items()) {
    if (std::find(kArguments.begin(), kArguments.end(), name) == kArguments.end()) return {};
    if (name != "code" && name != "language") rest += (rest.empty() ? "`" : ", `") + name + "`";
  }
  const auto code = object->find("code");
  if (code == object->end() || !code->is_string()) return {};
  // {"code": "US"} is a value, and no program.
  if (code->get_ref<const std::string&>().find_first_of("\n(=; ") == std::string::npos) return {};
  if (const auto named = object->find("language"); named != object->end() && named->is_string())
    CHECKED(check_language(named->get_ref<const std::string&>(), language, "the object of JSON that was sent as code"));
  sent.code = std::move(code->get_ref<std::string&>());
  sent.notes.push_back("took `code` out of the object of JSON that was sent as code" +
                       (rest.empty() ? "" : "; left out: " + rest));
  return {};
}

// <code>...</code>, <pre><code>...: the tag's name, if the text is between this tag and its end.
std::optional<std::string> outer_tag(std::string_view text) {
  constexpr size_t kMaxTag = 100;
  const size_t end = text.substr(0, kMaxTag).find('>');
  if (!text.starts_with('<') || end == text.npos) return std::nullopt;
  std::string tag = lower_case(text.substr(1, std::min(text.find_first_of(" >", 1), end) - 1));
  if (!text.ends_with('>') || text.size() < end + 1 + tag.size() + 3) return std::nullopt;
  const std::string last = lower_case(text.substr(text.size() - tag.size() - 3));
  if (last != "</" + tag + ">") return std::nullopt;
  return tag;
}

Result<> take_from_tags(SentCode& sent, Language language) {
  constexpr std::array<std::string_view, 6> kTags = {"code", "pre", "script", "execute", "execute_code", "tool_code"};
  constexpr int kMaxTags = 3;
  std::string name;
  for (int i = 0; i < kMaxTags; i++) {
    const std::string_view text = trimmed(sent.code, kSpace);
    const auto tag = outer_tag(text);
    if (!tag) break;
    const bool is_known = std::find(kTags.begin(), kTags.end(), *tag) != kTags.end();
    if (!is_known && !language_of_word(*tag)) break;
    CHECKED(check_language(*tag, language, "the tag around the code"));
    const size_t begin = text.find('>') + 1;
    std::string_view inside = text.substr(begin, text.size() - begin - tag->size() - 3);
    if (inside.starts_with('\n')) inside.remove_prefix(1);
    name += fmt::format("{}<{}>", name.empty() ? "" : " and ", *tag);
    sent.code = std::string(inside);
  }
  if (!name.empty()) sent.notes.push_back("left out the tags " + name + " around the code");
  return {};
}

// The number that a line begins with, and where the text behind it begins: "12: x", "12| x", "   12\tx".
struct NumberedLine {
  uint64_t number = 0;
  std::string_view separator, text;
};
std::optional<NumberedLine> read_numbered(std::string_view line) {
  const std::string_view digits = line.substr(indentation_of(line).size());
  NumberedLine read;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), read.number);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest = digits.substr(static_cast<size_t>(end - digits.data()));
  for (const std::string_view separator : {":", "|", "\t", "\xe2\x86\x92", " |", "\xe2\x94\x82", " \xe2\x94\x82"}) {
    if (!rest.starts_with(separator)) continue;
    rest.remove_prefix(separator.size());
    read.separator = separator;
    read.text = rest;
    return read;
  }
  return std::nullopt;
}

// All lines that are not blank begin with numbers that count up by one, and with one separator behind them.
void remove_line_numbers(SentCode& sent) {
  CodeLines lines = lines_of(sent.code);
  const size_t first = first_full(lines);
  const auto start = first < lines.size() ? read_numbered(lines[first]) : std::nullopt;
  if (!start) return;
  uint64_t next = start->number, count = 0;
  bool has_blank = true;  // behind each separator
  for (std::string_view& line : lines) {
    if (is_blank(line)) continue;
    const auto read = read_numbered(line);
    if (!read || read->number != next || read->separator != start->separator) return;
    line = read->text;
    if (!is_blank(line) && line[0] != ' ') has_blank = false;
    next++;
    count++;
  }
  if (count == 1 && start->separator.ends_with('|')) return;  // 1|2 is a value
  if (has_blank && start->separator != "\t") remove_indentation(lines, " ");
  sent.code = text_of(lines);
  sent.notes.push_back(count == 1 ? fmt::format("left out the line number {}", start->number)
                                  : fmt::format("left out the line numbers {} to {}", start->number, next - 1));
}

bool has_long_quotes(std::string_view code) {
  return code.find("\"\"\"") != code.npos || code.find("'''") != code.npos;
}

// Python whose first line is indented does not compile. In a shell only the ends of here-documents must not be
// indented. In JavaScript and TypeScript indentation has no meaning.
void remove_shared_indentation(SentCode& sent, Language language) {
  if (jail::runs_in_node(language)) return;
  CodeLines lines = lines_of(sent.code);
  const std::string_view shared = shared_indentation(lines);
  if (shared.empty()) return;
  CodeLines changed = lines;
  remove_indentation(changed, shared);
  if (language == Language::shell && (HereDocuments::all_end(lines) || !HereDocuments::all_end(changed))) return;
  const bool is_reported = language == Language::shell || has_long_quotes(sent.code);
  sent.code = text_of(changed);
  if (is_reported) sent.notes.emplace_back("the indentation that all lines share was removed");
}

}  // namespace

Result<SentCode> read_sent_code(std::string code, Language language) {
  SentCode sent;
  sent.code = std::move(code);
  if (!may_need_repair(sent.code)) return sent;
  remove_byte_order_mark(sent);
  CHECKED(take_from_json(sent, language));
  take_plain_line_ends(sent, language);
  CHECKED(take_from_tags(sent, language));
  TRY(auto fenced, take_from_fences(sent.code, language));
  if (fenced) {
    sent.code = std::move(fenced->code);
    sent.notes.push_back(std::move(fenced->note));
    sent.is_typescript = fenced->language == CodeLanguage::typescript;
  }
  remove_line_numbers(sent);
  TRY(auto bare, take_from_prompts(sent.code, language));
  if (bare) {
    sent.code = std::move(bare->code);
    sent.notes.push_back(std::move(bare->note));
  }
  remove_shared_indentation(sent, language);
  return sent;
}

}  // namespace executions
