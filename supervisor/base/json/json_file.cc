#include "supervisor/base/json/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/json/strict_json.h"
#include "supervisor/base/log.h"

namespace {

constexpr size_t kMaxShownKey = 64;  // bytes of a key or a word in a message
constexpr char kWriteOnce[] = "write it once: all but the last would have no effect";
constexpr char kSaveAsUtf8[] = "save the file as UTF-8";

struct TextPosition {
  size_t line = 1, column = 1;
};

// The line and the column of a byte.
TextPosition text_position_of(std::string_view text, size_t at) {
  TextPosition position;
  for (const char c : text.substr(0, at)) {
    if (c == '\n') {
      position = {position.line + 1, 1};
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {  // no continuation byte
      position.column++;
    }
  }
  return position;
}

bool is_word_byte(char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; }

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view word) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < word.size() && is_digit(word[at])) at++;
    return at > begin;
  };
  const auto skip = [&](std::string_view any) {
    if (at == word.size() || any.find(word[at]) == any.npos) return false;
    at++;
    return true;
  };
  skip("-");
  if (!skip("0") && !digits()) return false;
  if (skip(".") && !digits()) return false;
  if (skip("eE")) {
    skip("+-");
    if (!digits()) return false;
  }
  return at == word.size();
}

// JsonFileScan: one pass over the text, which finds its first defect. Does not recurse.
class JsonFileScan {
 public:
  JsonFileScan(std::string_view text, int max_depth) : text_(text), max_depth_(static_cast<size_t>(max_depth)) {}

  // The first defect; nullopt: parse_json() can read the text, but for numbers beyond its limits.
  std::optional<Error> run() {
    check_bytes();
    while (!error_) {
      skip_space();
      if (error_) break;
      if (at_ == text_.size()) {
        if (expected_ != Expected::end) cut_off();
        break;
      }
      step();
    }
    return std::move(error_);
  }

 private:
  enum class Expected { value, first_value, key, first_key, colon, comma, end };
  struct Container {
    bool is_object = false;
    size_t begin = 0;
    std::map<std::string, size_t, std::less<>> keys;  // and where they stand
  };

  void wrong(size_t at, const std::string& problem, std::string remedy = {}, std::string_view kind = "not JSON: ") {
    const TextPosition position = text_position_of(text_, at);
    error_ = Error{Code::invalid,
                   0,
                   fmt::format("{}line {}, column {}: {}", kind, position.line, position.column, problem),
                   std::move(remedy),
                   {}};
  }

  void check_bytes() {
    if (text_.starts_with("\xef\xbb\xbf"))
      return wrong(0, "a byte order mark", "save the file as UTF-8 without one", "");
    const std::string valid = valid_utf8(text_);
    const auto [bad, replaced] = std::mismatch(text_.begin(), text_.end(), valid.begin(), valid.end());
    if (bad == text_.end()) return;
    wrong(static_cast<size_t>(bad - text_.begin()),
          fmt::format("the byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(*bad)), kSaveAsUtf8, "");
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) at_++;
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#'))
      wrong(at_, "a comment", "remove it: JSON has no comments");
  }

  void cut_off() {
    if (open_.empty()) return wrong(at_, "the file has no value", "begin the file with {");
    const TextPosition begin = text_position_of(text_, open_.back().begin);
    wrong(at_,
          fmt::format("the file ends within the {} that begins in line {}, column {}",
                      open_.back().is_object ? "object" : "list", begin.line, begin.column),
          fmt::format("close it with {}", open_.back().is_object ? '}' : ']'));
  }

  void step() {
    const char c = text_[at_];
    switch (expected_) {
      case Expected::end:
        return wrong(at_, "further text after the end of the value", "remove it");
      case Expected::colon:
        if (c != ':') return wrong(at_, "a colon is missing after the key");
        at_++;
        expected_ = Expected::value;
        return;
      case Expected::comma:
        return next_member(c);
      case Expected::first_key:
      case Expected::key:
        if (c == '}') return expected_ == Expected::first_key ? close() : trailing_comma(c);
        return key(c);
      case Expected::first_value:
      case Expected::value:
        if (c == ']' && !open_.empty() && !open_.back().is_object)
          return expected_ == Expected::first_value ? close() : trailing_comma(c);
        return value(c);
    }
  }

  void trailing_comma(char c) {
    wrong(comma_, fmt::format("a comma before {}", c), "remove it: JSON has no trailing commas");
  }

  void next_member(char c) {
    const Container& open = open_.back();
    if (c == (open.is_object ? '}' : ']')) return close();
    if (c == ',') {
      comma_ = at_++;
      expected_ = open.is_object ? Expected::key : Expected::value;
    } else if (c == '}' || c == ']') {
      const TextPosition begin = text_position_of(text_, open.begin);
      wrong(at_, fmt::format("{} does not close the {} of line {}, column {}", c, open.is_object ? '{' : '[',
                             begin.line, begin.column));
    } else {
      wrong(at_, "a comma is missing before this text");
    }
  }

  void key(char c) {
    if (c == '\'') return wrong(at_, "a key in single quotes", "JSON has double quotes");
    if (c != '"') return wrong(at_, "a key is missing", "a key is a text in double quotes");
    const size_t begin = at_;
    std::string name = string();
    if (error_) return;
    const auto [known, is_new] = open_.back().keys.emplace(std::move(name), begin);
    if (!is_new)
      return wrong(begin,
                   fmt::format("the key \"{}\" is there twice, first in line {}", printable(known->first, kMaxShownKey),
                               text_position_of(text_, known->second).line),
                   kWriteOnce, "");
    expected_ = Expected::colon;
  }

  void value(char c) {
    if (c == '{' || c == '[') return open(c == '{');
    if (c == '"') {
      string();
    } else if (c == '\'') {
      return wrong(at_, "a text in single quotes", "JSON has double quotes");
    } else if (is_word_byte(c)) {
      word();
    } else {
      return wrong(at_, "a value is missing");
    }
    expected_ = open_.empty() ? Expected::end : Expected::comma;
  }

  void open(bool is_object) {
    if (open_.size() >= max_depth_) return wrong(at_, fmt::format("nested deeper than {}", max_depth_), {}, "");
    open_.push_back({is_object, at_++, {}});
    expected_ = is_object ? Expected::first_key : Expected::first_value;
  }

  void close() {
    at_++;
    open_.pop_back();
    expected_ = open_.empty() ? Expected::end : Expected::comma;
  }

  void word() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_word_byte(text_[at_])) at_++;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false" || word == "null" || is_json_number(word)) return;
    const bool is_numeric = is_digit(word.front()) || std::string_view("+-.").find(word.front()) != word.npos;
    wrong(begin, fmt::format("{} is no value of JSON", printable(word, kMaxShownKey)),
          is_numeric ? "write a decimal number, for example 7, -7 or 0.7"
                     : "write true, false, or a text in double quotes");
  }

  // Reads a text at its quote. Returns it without escapes.
  std::string string() {
    const size_t begin = at_++;
    bool has_escape = false;
    for (; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) {
        wrong(at_, text_[at_] == '\n' ? "the line ends within a text" : "a control character within a text",
              text_[at_] == '\n' ? "close the text with \", or write \\n for a line end" : "write \\t or \\u00XX");
        return {};
      }
      if (text_[at_] != '\\') continue;
      has_escape = true;
      if (!escape()) return {};
    }
    if (at_ == text_.size()) {
      wrong(begin, "a text without an end", "close the text with \"");
      return {};
    }
    at_++;
    const std::string_view token = text_.substr(begin, at_ - begin);
    if (!has_escape) return std::string(token.substr(1, token.size() - 2));
    const auto value = parse_json(token, 1);
    return value && value->is_string() ? value->get<std::string>() : std::string(token);
  }

  // The code unit of the four digits at `at`; -1: other text.
  int code_unit(size_t at) const {
    int unit = 0;
    for (size_t i = at; i < at + 4; i++) {
      const char c = i < text_.size() ? text_[i] : ' ';
      const int digit = hex_digit(c);
      if (digit < 0) return -1;
      unit = unit * 16 + digit;
    }
    return unit;
  }

  // At a backslash; afterwards at the last byte of the escape.
  bool escape() {
    const size_t begin = at_++;
    const char c = at_ < text_.size() ? text_[at_] : ' ';
    if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) return true;
    const int unit = c == 'u' ? code_unit(at_ + 1) : -1;
    if (unit < 0) {
      wrong(begin, "a backslash that begins no escape", "write \\\\ for a backslash");
      return false;
    }
    at_ += 4;
    if (unit < 0xd800 || unit > 0xdfff) return true;
    const int low = text_.substr(at_ + 1, 2) == "\\u" ? code_unit(at_ + 3) : -1;
    if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff) {
      wrong(begin, "half of a character: a surrogate without the other one", "write the character itself, in UTF-8",
            "");
      return false;
    }
    at_ += 6;
    return true;
  }

  const std::string_view text_;
  const size_t max_depth_;
  size_t at_ = 0;
  size_t comma_ = 0;  // the last one
  Expected expected_ = Expected::value;
  std::vector<Container> open_;  // from the outermost to the innermost
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_json_file(std::string_view text, int max_depth) {
  auto value = read_strict_json(text, max_depth, RepeatedKeys::refuse);
  if (value && *value) return *std::move(value);
  if (auto defect = JsonFileScan(text, max_depth).run()) return tl::unexpected<Error>(*std::move(defect));
  return parse_json(text, max_depth);
}
