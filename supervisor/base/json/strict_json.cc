#include "supervisor/base/json/strict_json.h"

// RapidJSON's empty stack once adds to a null pointer, to find that it must grow. The addition is harmless, but clang's
// sanitizer would end the process.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <fmt/format.h>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json_tree.h"

namespace {

// Bounded: a text with an end, as input for RapidJSON's parser. RapidJSON's MemoryStream reads past the end of a text
// that is cut off in the middle of a character.
class Bounded {
 public:
  using Ch = char;
  explicit Bounded(std::string_view text) : at_(text.data()), begin_(at_), end_(at_ + text.size()) {}
  char Peek() const { return at_ < end_ ? *at_ : '\0'; }
  char Take() { return at_ < end_ ? *at_++ : '\0'; }
  size_t Tell() const { return static_cast<size_t>(at_ - begin_); }
  // The parser's code names these functions for texts that it may change; it never calls them.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  size_t PutEnd(char*) { return 0; }

 private:
  const char* at_;
  const char* begin_;
  const char* end_;
};

// Receives the events of RapidJSON's parser. A return value of `false` stops the parser.
class StrictHandler {
 public:
  // `text`: where the digits of numbers come from. `stream`: reads that text, or with_small_numbers() of it.
  StrictHandler(int max_depth, RepeatedKeys repeated_keys, std::string_view text, const Bounded& stream)
      : tree_(max_depth), repeated_keys_(repeated_keys), text_(text), stream_(stream) {}
  Json take() { return tree_.take(); }
  // The error of a number that stopped the parser.
  std::optional<Error> take_error() { return std::move(error_); }

  bool Null() { return put(nullptr); }
  bool Bool(bool value) { return put(value); }
  bool RawNumber(const char*, rapidjson::SizeType length, bool) {
    auto number = read_number(text_.substr(stream_.Tell() - length, length));
    if (number && is_exact_number(*number) && ++exact_numbers_ > kMaxExactNumbers)
      number = fail(Code::invalid,
                    fmt::format("more than {} numbers that neither 64 bits nor a double holds", kMaxExactNumbers),
                    "send them as texts");
    if (number) return put(*std::move(number));
    error_ = std::move(number).error();
    return false;
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return !has_surrogate({text, length}) && put(std::string(text, length));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    if (has_surrogate({text, length})) return false;
    return tree_.key(std::string(text, length)) || repeated_keys_ == RepeatedKeys::last_counts;
  }
  bool StartObject() { return tree_.open(Json::object()); }
  bool StartArray() { return tree_.open(Json::array()); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  // The parser does not call these functions: kParseNumbersAsStringsFlag is set.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  // The parser accepts the escape of a lone low surrogate, and writes it like UTF-8: 0xED, then 0xA0 or more. Valid
  // UTF-8 never has these two bytes.
  static bool has_surrogate(std::string_view text) {
    for (size_t at = text.find('\xed'); at != std::string_view::npos; at = text.find('\xed', at + 1)) {
      if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xa0) return true;
    }
    return false;
  }
  bool close() {
    tree_.close();
    return true;
  }
  bool put(Json&& value) {
    tree_.put(std::move(value));
    return true;
  }

  JsonTree tree_;
  const RepeatedKeys repeated_keys_;
  std::string_view text_;
  const Bounded& stream_;
  size_t exact_numbers_ = 0;
  std::optional<Error> error_;
};

// The end of the digits from `at` on.
size_t end_of_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) at++;
  return at;
}

// The end of the longest number in JSON's grammar at `begin`, where a digit stands.
size_t end_of_number(std::string_view text, size_t begin) {
  size_t end = text[begin] == '0' ? begin + 1 : end_of_digits(text, begin);
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) end = end_of_digits(text, end + 1);
  if (end >= text.size() || (text[end] != 'e' && text[end] != 'E')) return end;
  size_t exponent = end + 1;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) exponent++;
  return exponent < text.size() && is_digit(text[exponent]) ? end_of_digits(text, exponent) : end;
}

}  // namespace

std::string with_small_numbers(std::string_view text) {
  constexpr size_t kSmall = 15;  // bytes of a number without an exponent
  std::string small(text);
  bool quoted = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (quoted && c == '\\') {
      at += 2;
    } else if (quoted || !is_digit(c)) {
      if (c == '"') quoted = !quoted;
      at++;
    } else {
      const size_t end = end_of_number(text, at);
      const std::string_view number = text.substr(at, end - at);
      if (number.size() > kSmall || number.find_first_of("eE") != number.npos) {
        small.replace(at, number.size(), number.size(), '0');
        small.replace(at, 2, "1.");
      }
      at = end;
    }
  }
  return small;
}

std::optional<Result<Json>> read_strict_json(std::string_view text, int max_depth, RepeatedKeys repeated_keys) {
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  std::string small;
  for (std::string_view read = text;; read = small = with_small_numbers(text)) {
    Bounded stream(read);
    StrictHandler handler(max_depth, repeated_keys, text, stream);
    rapidjson::Reader parser;
    const auto end = parser.Parse<kFlags>(stream, handler);
    if (end.Code() == rapidjson::kParseErrorNumberTooBig && small.empty()) continue;
    if (auto error = handler.take_error()) return tl::unexpected(*std::move(error));
    // The parser takes a NUL for the end of the text.
    if (end.IsError() || stream.Tell() != text.size()) return {};
    return handler.take();
  }
}
