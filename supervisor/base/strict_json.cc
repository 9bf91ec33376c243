#include "supervisor/base/strict_json.h"

// RapidJSON's empty stack once adds to a null pointer, to find that it must grow. The addition is harmless, but clang's
// sanitizer would end the process.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <charconv>

#include "supervisor/base/json_tree.h"

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
  explicit StrictHandler(int max_depth) : tree_(max_depth) {}
  Json take() { return tree_.take(); }

  bool Null() { return put(nullptr); }
  bool Bool(bool value) { return put(value); }
  bool RawNumber(const char* digits, rapidjson::SizeType length, bool) {
    const char* end = digits + length;
    const bool whole = std::string_view(digits, length).find_first_of(".eE") == std::string_view::npos;
    // Like nlohmann's parser: a number without minus sign is unsigned, a number too large for 64 bits is a double.
    if (whole && *digits == '-') {
      if (int64_t number = 0; std::from_chars(digits, end, number).ec == std::errc()) return put(number);
    } else if (whole) {
      if (uint64_t number = 0; std::from_chars(digits, end, number).ec == std::errc()) return put(number);
    }
    double number = 0;
    return std::from_chars(digits, end, number).ec == std::errc() && put(number);
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return !has_surrogate({text, length}) && put(std::string(text, length));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    if (has_surrogate({text, length})) return false;
    tree_.key(std::string(text, length));
    return true;
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
};

}  // namespace

std::optional<Json> read_strict_json(std::string_view text, int max_depth) {
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  Bounded stream(text);
  StrictHandler handler(max_depth);
  rapidjson::Reader parser;
  // The parser takes a NUL for the end of the text.
  if (parser.Parse<kFlags>(stream, handler).IsError() || stream.Tell() != text.size()) return {};
  return handler.take();
}
