// JSON at the edges: parsing that cannot be crashed, dumping that cannot throw, and one checked reader.
// Facts behind it: nlohmann 3.11.2 recurses on copy and dump, so unbounded nesting overflows the stack;
// its dump() throws on bytes that are not UTF-8; its parse() refuses lone surrogates that JavaScript
// clients may send.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

constexpr int kMaxJsonDepth = 64;

// Errors: invalid, "not JSON: ..." with the byte offset, or "nested deeper than 64".
// Lone surrogate escapes (\ud800) become U+FFFD; invalid UTF-8 becomes U+FFFD.
Result<nlohmann::json> parse_json(std::string_view text, int max_depth = kMaxJsonDepth);
// One line; bytes that are not UTF-8 become U+FFFD; U+0085, U+2028, U+2029 and DEL are escaped, as some
// JSON-line readers split at them. Of any depth; never throws.
std::string dump_json(const nlohmann::json& value);
std::string dump_json(const nlohmann::ordered_json& value);
// Appends `text` as a quoted JSON string by the same rules; the fast path for large outputs.
void append_json_string(std::string& out, std::string_view text);
// `text` with every invalid byte sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
// How many bytes of `text` are whole UTF-8 sequences: cuts a sequence that was split at the end.
size_t whole_utf8_prefix(std::string_view text);

// Reads the fields of one object, each at most once, and refuses the fields nobody asked for.
//   Fields in(object, "limits");
//   TRY(double cpus, in.number("cpus", 0.01, 8));
//   CHECKED(in.done());                       // "limits.cpu: unknown key; known keys: cpus, tasks"
// Errors: invalid, "limits.cpus: 64 is outside 0.01..8" naming path, value and range.
// The object must outlive the reader.
class Fields {
 public:
  // A value that is not an object reads as an error at the first access or at done().
  Fields(const nlohmann::json& object, std::string path);

  bool has(std::string_view key) const;
  // The raw value, marked as read; nullptr when absent or null.
  const nlohmann::json* find(std::string_view key);
  Result<double> number(std::string_view key, double min, double max);
  Result<double> number_or(std::string_view key, double min, double max, double fallback);
  Result<int64_t> integer(std::string_view key, int64_t min, int64_t max);
  Result<int64_t> integer_or(std::string_view key, int64_t min, int64_t max, int64_t fallback);
  Result<bool> boolean_or(std::string_view key, bool fallback);
  Result<std::string> string(std::string_view key, size_t max_bytes = 4096);
  Result<std::string> string_or(std::string_view key, std::string fallback, size_t max_bytes = 4096);
  Result<std::string> one_of(std::string_view key, const std::vector<std::string>& allowed,
                             std::optional<std::string> fallback = {});
  Result<std::vector<std::string>> strings_or(std::string_view key, std::vector<std::string> fallback);
  // Every key has been asked for. Errors as above.
  Result<> done() const;
  std::string path_of(std::string_view key) const;

 private:
  Result<const nlohmann::json*> need(std::string_view key);
  const nlohmann::json& object_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};
