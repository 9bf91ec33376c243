#include "supervisor/base/json/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_tree.h"
#include "supervisor/base/json/strict_json.h"
#include "supervisor/base/log.h"

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

unsigned char byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// The bytes from `at` on, of which the first is not ASCII: one whole sequence of `length` bytes, or the bytes that one
// U+FFFD replaces. As in table 3-7 of the Unicode standard. A broken sequence is replaced up to the byte that broke it,
// as in browsers.
struct Sequence {
  size_t length;
  bool valid;
  bool cut;  // valid so far, but the text ends within the sequence
};

Sequence sequence_at(std::string_view text, size_t at) {
  const unsigned char lead = byte_at(text, at);
  size_t length = 0;
  unsigned char low = 0x80, high = 0xbf;  // range of the second byte: no overlong forms, surrogates, or above U+10FFFF
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return {1, false, false};
  }
  for (size_t i = 1; i < length; i++) {
    if (at + i == text.size()) return {i, false, true};
    const unsigned char next = byte_at(text, at + i);
    if (next < low || next > high) return {i, false, false};
    low = 0x80, high = 0xbf;
  }
  return {length, true, false};
}

// How many bytes from `at` on are 0x20..0x7e without quote and backslash; eight at a time.
size_t plain_run(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  const size_t start = at;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    const uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\'), del = word ^ (kOnes * 0x7f);
    // x - 0x01.. borrows into the top bit of a zero byte. A borrow may reach the byte above, so a hit there can be
    // false. No hit is missed, and the loop below checks each byte again.
    const uint64_t hit = (word | (word - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes) | (del - kOnes)) & kTops;
    if (hit != 0) break;
  }
  for (; at < text.size(); at++) {
    const unsigned char c = byte_at(text, at);
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') break;
  }
  return at - start;
}

size_t ascii_run(std::string_view text, size_t at) {
  const size_t start = at;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080) break;
  }
  while (at < text.size() && byte_at(text, at) < 0x80) at++;
  return at - start;
}

// The code unit of a \uXXXX at `at`, or -1.
int unicode_escape(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int unit = 0;
  for (size_t i = at + 2; i < at + 6; i++) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool is_high(int unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool is_low(int unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

// JSON text with U+FFFD for every lone surrogate escape. A backslash outside of a string is an error in any case.
std::string repair_surrogates(std::string text) {
  for (size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
    const int unit = unicode_escape(text, at);
    if (is_high(unit) && is_low(unicode_escape(text, at + 6))) {
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      text.replace(at + 2, 4, "fffd");
      at += 6;
    } else {
      at += 2;  // past the escaped character, which may be a backslash
    }
    if (at >= text.size()) break;
  }
  return text;
}

// Receives the events of nlohmann's parser, which does not recurse: finds what is wrong with a text. A return value of
// `false` stops the parser.
class ProblemFinder {
 public:
  explicit ProblemFinder(int max_depth) : max_depth_(max_depth) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t) { return true; }
  bool number_unsigned(uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Json::binary_t&) { return false; }  // not in JSON text
  bool key(std::string&) { return true; }
  bool start_object(size_t) { return open(); }
  bool start_array(size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) {
    position_ = position;
    what_ = e.what();
    return false;
  }

  bool too_deep() const { return depth_ > max_depth_; }
  Error error() const {
    if (too_deep()) return Error{Code::invalid, 0, fmt::format("nested deeper than {}", max_depth_), {}, {}};
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ... - reason; last read: '...'"
    std::string_view why = what_;
    if (auto end = why.find("] "); end != why.npos) why.remove_prefix(end + 2);
    if (why.starts_with("parse error at")) {
      if (auto end = why.find(": "); end != why.npos) why.remove_prefix(end + 2);
    }
    why = why.substr(0, why.find("; last read"));
    return Error{Code::invalid, 0, fmt::format("not JSON: {} (byte {})", printable(why, 160), position_), {}, {}};
  }

 private:
  bool open() { return ++depth_ <= max_depth_; }
  bool close() {
    depth_--;
    return true;
  }

  int max_depth_;
  int depth_ = 0;
  size_t position_ = 0;
  std::string what_;
};

// Why parse_json() cannot read `text`; `repaired`: the same text, repaired.
Error problem_of(std::string_view text, std::string_view repaired, int max_depth) {
  // nlohmann's parser takes a NUL byte for the end of the text, and ignores all bytes behind it.
  if (const size_t nul = text.find('\0'); nul != text.npos)
    return {Code::invalid, 0, fmt::format("not JSON: a NUL byte (byte {})", nul + 1), {}, {}};
  ProblemFinder problem(max_depth);
  for (const std::string_view name : {text, repaired}) {
    problem = ProblemFinder(max_depth);
    const std::string small = with_small_numbers(name);
    Json::sax_parse(small.begin(), small.end(), &problem);
    if (problem.too_deep() || text == repaired) break;
  }
  return problem.error();
}

void append_scalar(std::string& out, const Json& value) {
  char digits[32];
  switch (value.type()) {
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case Json::value_t::string:
      append_json_string(out, value.get_ref<const std::string&>());
      break;
    case Json::value_t::number_integer: {
      auto end = std::to_chars(digits, std::end(digits), value.get<int64_t>());
      out.append(digits, end.ptr);
      break;
    }
    case Json::value_t::number_unsigned: {
      auto end = std::to_chars(digits, std::end(digits), value.get<uint64_t>());
      out.append(digits, end.ptr);
      break;
    }
    case Json::value_t::number_float: {
      const double number = value.get<double>();
      if (!std::isfinite(number)) {
        out += "null";
        break;
      }
      auto end = std::to_chars(digits, std::end(digits), number);
      const std::string_view text(digits, static_cast<size_t>(end.ptr - digits));
      out += text;
      if (text.find_first_of(".e") == text.npos) out += ".0";  // so that readers parse a float again
      break;
    }
    default:
      // Discarded values have no JSON form.
      out += is_exact_number(value) ? exact_digits(value) : "null";
      break;
  }
}

// With an explicit stack, so that no depth overflows the stack of the thread.
std::string dump(const Json& value) {
  struct Level {
    const Json* container;
    Json::const_iterator next;
  };
  std::string out;
  std::vector<Level> levels;
  const Json* current = &value;
  for (;;) {
    if (current->is_structured()) {
      out += current->is_object() ? '{' : '[';
      levels.push_back({current, current->cbegin()});
    } else {
      append_scalar(out, *current);
    }
    while (!levels.empty() && levels.back().next == levels.back().container->cend()) {
      out += levels.back().container->is_object() ? '}' : ']';
      levels.pop_back();
    }
    if (levels.empty()) return out;
    Level& level = levels.back();
    if (level.next != level.container->cbegin()) out += ',';
    if (level.container->is_object()) {
      append_json_string(out, level.next.key());
      out += ':';
    }
    current = &*level.next++;
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text, int max_depth) {
  if (auto value = read_strict_json(text, max_depth)) return *std::move(value);
  const std::string repaired = repaired_json(text);  // only a text that failed pays for it
  if (repaired != text)
    if (auto value = read_strict_json(repaired, max_depth)) return *std::move(value);
  return tl::unexpected(problem_of(text, repaired, max_depth));
}

std::string repaired_json(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return repair_surrogates(valid_utf8(text));
}

Result<Json> parse_own_json(std::string_view text) {
  constexpr int kAnyDepth = 1 << 20;  // the writer has no limit
  return parse_json(text, kAnyDepth);
}

std::string dump_json(const Json& value) { return dump(value); }

std::string dump_json_ascii(const Json& value) {
  const std::string text = dump(value);
  std::string ascii;
  const auto append_unit = [&ascii](unsigned unit) { ascii += fmt::format("\\u{:04x}", unit); };
  for (size_t at = 0; at < text.size();) {
    const size_t run = ascii_run(text, at);
    ascii.append(text, at, run);
    at += run;
    if (at == text.size()) break;
    const size_t length = sequence_at(text, at).length;
    unsigned point = byte_at(text, at) & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++) point = point << 6 | (byte_at(text, at + i) & 0x3fU);
    at += length;
    if (point > 0xffff) append_unit(0xd800 + ((point - 0x10000) >> 10));
    append_unit(point > 0xffff ? 0xdc00 + ((point - 0x10000) & 0x3ff) : point);
  }
  return ascii;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (size_t at = 0; at < text.size();) {
    if (const size_t run = plain_run(text, at); run != 0) {
      out.append(text, at, run);
      at += run;
      continue;
    }
    const unsigned char c = byte_at(text, at);
    if (c >= 0x80) {
      const Sequence sequence = sequence_at(text, at);
      const std::string_view bytes = text.substr(at, sequence.length);
      at += sequence.length;
      if (!sequence.valid) {
        out += kReplacement;
      } else if (bytes == "\xe2\x80\xa8") {
        out += "\\u2028";
      } else if (bytes == "\xe2\x80\xa9") {
        out += "\\u2029";
      } else if (bytes == "\xc2\x85") {
        out += "\\u0085";
      } else {
        out += bytes;
      }
      continue;
    }
    at++;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out += '"';
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (const size_t run = ascii_run(text, at); run != 0) {
      out.append(text, at, run);
      at += run;
      continue;
    }
    const Sequence sequence = sequence_at(text, at);
    out += sequence.valid ? text.substr(at, sequence.length) : kReplacement;
    at += sequence.length;
  }
  return out;
}

size_t whole_utf8_prefix(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); back++) {
    const size_t at = text.size() - back;
    const unsigned char c = byte_at(text, at);
    if (c < 0x80) break;
    if (c >= 0xc0) return sequence_at(text, at).cut ? at : text.size();
  }
  return text.size();
}
