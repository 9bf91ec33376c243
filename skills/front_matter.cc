#include "skills/front_matter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/trimmed.h"

namespace skills {
namespace {

constexpr size_t kMaxBytes = 16 << 10;
constexpr size_t kMaxKeys = 64;  // of each map; the same for items of a list

struct Line {
  size_t number;
  size_t indent;
  std::string_view text;  // without indent and trailing blanks
};

constexpr std::string_view kBlanks = " \t\r";

auto wrong(size_t line, std::string_view why, std::string_view hint = "see agentskills.io/specification") {
  return fail(Code::invalid, fmt::format("front matter, line {}: {}", line, why), std::string(hint));
}

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= 128 && std::all_of(key.begin(), key.end(), [](char c) {
    return is_alnum(c) || std::string_view("_-./").find(c) != std::string_view::npos;
  });
}

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) end++;
  return end - at;
}

// A number of the core schema: "7", "-1.5", ".5", "1e3".
std::optional<Json> number_of(std::string_view text) {
  size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const size_t full = digits_at(text, at);
  at += full;
  size_t fraction = 0;
  const bool dotted = at < text.size() && text[at] == '.';
  if (dotted) fraction = digits_at(text, ++at);
  at += fraction;
  if (full + fraction == 0) return std::nullopt;
  if (at == text.size() && !dotted && full <= 18) return Json(std::atoll(std::string(text).c_str()));
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    at++;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) at++;
    const size_t exponent = digits_at(text, at);
    if (exponent == 0 || exponent > 3) return std::nullopt;
    at += exponent;
  }
  if (at != text.size()) return std::nullopt;
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  if (!(value < 1e300 && value > -1e300)) return std::nullopt;
  return Json(value);
}

class Reader {
 public:
  explicit Reader(std::vector<Line> lines) : lines_(std::move(lines)) {}

  Result<Json> document() {
    TRY(Json fields, map(0));
    if (at_ < lines_.size()) return wrong(lines_[at_].number, "is indented less than the line that it belongs to");
    return fields;
  }

 private:
  // The next line that is neither empty nor a comment; nullptr at the end.
  const Line* peek() {
    while (at_ < lines_.size() && (lines_[at_].text.empty() || lines_[at_].text[0] == '#')) at_++;
    return at_ < lines_.size() ? &lines_[at_] : nullptr;
  }

  Result<Json> map(size_t indent) {
    Json fields = Json::object();
    for (const Line* line = peek(); line && line->indent >= indent; line = peek()) {
      const size_t colon = line->text.find(':');
      const std::string_view key = line->text.substr(0, colon);
      const std::string_view rest = colon == line->text.npos ? "" : line->text.substr(colon + 1);
      if (line->indent > indent) return wrong(line->number, "is indented more than the line before allows");
      if (colon == line->text.npos || !is_key(key) || (!rest.empty() && rest[0] != ' '))
        return wrong(line->number, "is not `key: value`");
      if (fields.contains(key)) return wrong(line->number, fmt::format("'{}' is listed twice", key));
      if (fields.size() == kMaxKeys) return wrong(line->number, fmt::format("more than {} keys", kMaxKeys));
      at_++;
      TRY(Json value, value_of(*line, rest));
      fields[std::string(key)] = std::move(value);
    }
    return fields;
  }

  Result<Json> value_of(const Line& line, std::string_view rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.starts_with('|') || rest.starts_with('>')) return block(line, rest);
    if (!rest.empty() && rest[0] != '#') return scalar(line.number, rest);
    const Line* below = peek();
    if (!below) return Json(nullptr);
    if (below->text.starts_with("- ") && below->indent >= line.indent) return list(below->indent);
    if (below->indent <= line.indent) return Json(nullptr);
    if (line.indent > 0) return wrong(below->number, "is nested too deeply for this reader");
    return map(below->indent);
  }

  Result<Json> list(size_t indent) {
    Json items = Json::array();
    for (const Line* line = peek(); line && line->indent == indent && line->text.starts_with("- "); line = peek()) {
      if (items.size() == kMaxKeys) return wrong(line->number, fmt::format("more than {} items", kMaxKeys));
      at_++;
      std::string_view text = line->text.substr(2);
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      TRY(Json item, scalar(line->number, text));
      items.push_back(std::move(item));
    }
    return items;
  }

  Result<Json> scalar(size_t number, std::string_view text) {
    if (text.starts_with('"')) return double_quoted(number, text);
    if (text.starts_with('\'')) return single_quoted(number, text);
    if (!text.empty() && std::string_view("&*!%@`[]{}|>,?").find(text[0]) != std::string_view::npos)
      return wrong(number, fmt::format("a value cannot begin with '{}' here", text[0]),
                   "write the value in quotes; anchors, aliases, tags and flow collections are not supported");
    if (text.starts_with("- ")) return wrong(number, "a list in a list is not supported");
    if (const size_t comment = text.find(" #"); comment != text.npos)
      text = trimmed_end(text.substr(0, comment), kBlanks);
    if (text.find(": ") != text.npos || text.ends_with(':'))
      return wrong(number, "has a second ':'", "quote the value");
    for (std::string_view empty : {"", "~", "null", "Null", "NULL"})
      if (text == empty) return Json(nullptr);
    for (std::string_view yes : {"true", "True", "TRUE"})
      if (text == yes) return Json(true);
    for (std::string_view no : {"false", "False", "FALSE"})
      if (text == no) return Json(false);
    if (auto value = number_of(text)) return *value;
    // Numbers in other forms of the schema: 0x1F, 0o17, .inf, .nan.
    if (text.starts_with("0x") || text.starts_with("0o") || text.find(".inf") < 2 || text.find(".nan") < 2)
      return wrong(number, "this form of a number is not supported", "quote the value");
    return Json(std::string(text));
  }

  // Whether `rest` may follow a quoted value: blanks, or a comment.
  static bool is_rest(std::string_view rest) {
    const size_t at = rest.find_first_not_of(' ');
    return at == rest.npos || (at > 0 && rest[at] == '#');
  }

  static Result<Json> double_quoted(size_t number, std::string_view text) {
    size_t end = 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size() || !is_rest(text.substr(end + 1))) return wrong(number, "the quotes do not end");
    auto value = parse_json(text.substr(0, end + 1));
    if (!value || !value->is_string()) return wrong(number, "has an escape sequence that JSON does not have");
    return Json(value->get<std::string>());
  }

  static Result<Json> single_quoted(size_t number, std::string_view text) {
    std::string value;
    for (size_t i = 1; i < text.size(); i++) {
      if (text[i] != '\'') {
        value += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '\'') {
        value += text[i++];
      } else if (is_rest(text.substr(i + 1))) {
        return Json(std::move(value));
      } else {
        break;
      }
    }
    return wrong(number, "the quotes do not end");
  }

  // `|` preserves line ends, `>` replaces each by a space; `-` behind them removes the last line end.
  Result<Json> block(const Line& line, std::string_view head) {
    const bool folded = head[0] == '>';
    const bool strip = head == "|-" || head == ">-";
    if (head.size() > 1 && !strip) return wrong(line.number, "a block begins with |, |-, > or >-");
    size_t indent = 0;
    std::string value;
    size_t blanks = 0;
    for (; at_ < lines_.size() && (lines_[at_].text.empty() || lines_[at_].indent > line.indent); at_++) {
      const Line& part = lines_[at_];
      if (part.text.empty()) {
        blanks++;
        continue;
      }
      if (indent == 0) indent = part.indent;
      if (part.indent < indent || (folded && part.indent > indent))
        return wrong(part.number, "is not indented as the block's first line");
      if (!value.empty()) value += folded && blanks == 0 ? " " : std::string(folded ? blanks : blanks + 1, '\n');
      blanks = 0;
      value += std::string(part.indent - indent, ' ') + std::string(part.text);
    }
    if (!strip && !value.empty()) value += '\n';
    return Json(std::move(value));
  }

  std::vector<Line> lines_;
  size_t at_ = 0;
};

}  // namespace

Result<FrontMatter> parse_front_matter(std::string_view text) {
  std::vector<Line> lines;
  size_t begin = 0;
  for (size_t number = 1;; number++) {
    if (begin >= text.size()) return wrong(number, "the line `---` at its end is missing");
    if (begin > kMaxBytes) return wrong(number, fmt::format("the front matter is longer than {} bytes", kMaxBytes));
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = trimmed_end(text.substr(begin, end - begin), kBlanks);
    begin = end + 1;
    if (number == 1) {
      if (line != "---") return wrong(1, "is not `---`", "begin the file with `---`, name, description and `---`");
    } else if (line == "---") {
      break;
    } else if (valid_utf8(line) != line || line.find('\0') != line.npos) {
      return wrong(number, "is not UTF-8 text");
    } else {
      const size_t indent = std::min(line.find_first_not_of(' '), line.size());
      if (line.substr(indent).starts_with('\t')) return wrong(number, "is indented by a tab");
      lines.push_back({number, indent, line.substr(indent)});
    }
  }
  Reader reader(std::move(lines));
  TRY(Json fields, reader.document());
  return FrontMatter{std::move(fields), text.substr(std::min(begin, text.size()))};
}

}  // namespace skills
