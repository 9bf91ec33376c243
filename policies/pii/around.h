// Surroundings of a shape: the text before and behind it, the words near it, and the header of its column. All
// functions look at a bounded number of bytes. Used by: the tables of shapes, pii_*.cc.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "policies/pii/shapes.h"
#include "supervisor/base/ascii.h"

namespace policies {

inline bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

inline std::string_view inside(std::string_view text, PiiSpan span) {
  return text.substr(span.begin, span.end - span.begin);
}
inline char before(std::string_view text, PiiSpan span) { return span.begin == 0 ? ' ' : text[span.begin - 1]; }
inline char after(std::string_view text, PiiSpan span, size_t by = 0) {
  return span.end + by < text.size() ? text[span.end + by] : ' ';
}

// Whether the shape is part of a longer text: a longer number, an identifier, a version.
bool continues_word(std::string_view text, PiiSpan span);
bool goes_on(std::string_view text, PiiSpan span);

std::string digits_of(std::string_view text);
// Only the letters, in capitals, and the digits.
std::string alnum_of(std::string_view text);

using Words = std::initializer_list<std::string_view>;  // in lower case, of ASCII or of UTF-8

constexpr size_t kNear = 48;  // bytes on each side of a shape in which words can name its kind

// Whether one of `words` begins a word of `where`: "sin" in "my_sin:" and "SinNumber", not in "using". Words of up to
// four letters must end there, too.
bool says(std::string_view where, Words words);
// Like says(), for the bytes before a shape and for the header of its column.
bool says_before(std::string_view text, PiiSpan span, Words words, size_t within = kNear);
// Like last_message(), and also for the bytes behind the shape.
bool says_near(std::string_view text, PiiSpan span, Words words, size_t within = kNear);
// The cell of the first line above a cell of a table with , ; | or tabs between cells. Empty: the text is not a table.
std::string_view column_header(std::string_view text, PiiSpan span);

// Where an announced number begins. Searches from `at`, behind the announcing word, past marks and words such as
// "number", "no." and "is". npos: another word or another line comes first, or the number is too far away.
size_t announced_at(std::string_view text, size_t at);

// The end of a run's members that another member follows: "1." of "1.2.3", "ab:" of "ab:cd". An address, a number or a
// name that begins at a later member has the run's joint before it, so it is part of a longer text.
template <bool (*is_member)(char), size_t max, char joint>
size_t beyond_run(std::string_view text, PiiSpan span) {
  size_t next = span.begin;
  for (size_t at = next; at < text.size();) {
    const size_t member = at;
    while (at < text.size() && at - member <= max && is_member(text[at])) at++;
    if (at == member || at - member > max || at == text.size() || text[at] != joint) break;
    next = ++at;
  }
  return next;
}

}  // namespace policies
