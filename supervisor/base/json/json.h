// JSON text to values and back: parsing that cannot be crashed, dumping that cannot throw. The keys of objects stay in
// their order. The reasons: nlohmann 3.11.2 recurses on copy and dump, so unbounded nesting overflows the stack. Its
// dump() throws on bytes that are not UTF-8. Its parse() refuses lone surrogates, which JavaScript clients may send.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

constexpr int kMaxJsonDepth = 64;

// Errors: invalid, "not JSON: ..." with the byte offset, or "nested deeper than 64".
// Lone surrogate escapes (\ud800) become U+FFFD; invalid UTF-8 becomes U+FFFD. If an object has a key twice, the last
// value counts, at the position of the first.
Result<Json> parse_json(std::string_view text, int max_depth = kMaxJsonDepth);
// One line. Bytes that are not UTF-8 become U+FFFD. U+0085, U+2028, U+2029 and DEL are escaped, as some readers of JSON
// lines split at them. For values of any depth; never throws.
std::string dump_json(const Json& value);
// Appends `text` as a quoted JSON string by the same rules; the fast path for large outputs.
void append_json_string(std::string& out, std::string_view text);
// `text` as parse_json() reads it: without a byte order mark; invalid UTF-8 and lone surrogate escapes are U+FFFD.
std::string repaired_json(std::string_view text);
// `text` with every invalid byte sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
// How many bytes of `text` are whole UTF-8 sequences: a sequence that is cut off at the end of `text` does not count.
size_t whole_utf8_prefix(std::string_view text);
