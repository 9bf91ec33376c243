#include "policies/pii/around.h"

#include <algorithm>

#include "supervisor/base/ascii.h"

namespace policies {
namespace {

constexpr size_t kLine = 1024;           // bytes of a table's line that are read
constexpr size_t kAnnouncedWithin = 48;  // bytes between a word and its number

bool is_joint(char c) { return c == '.' || c == '-' || c == '/' || c == '#'; }

// Length in bytes of a UTF-8 punctuation character between a word and its number: dashes and quotes, degree and ordinal
// signs, colons and brackets of full width. 0: another character.
size_t punctuation(std::string_view text, size_t at) {
  const auto byte = [&](size_t by) { return at + by < text.size() ? static_cast<unsigned char>(text[at + by]) : 0u; };
  if (byte(0) == 0xC2) return 2;
  if ((byte(0) == 0xE2 && (byte(1) == 0x80 || byte(1) == 0x84)) || (byte(0) == 0xE3 && byte(1) == 0x80) ||
      (byte(0) == 0xEF && byte(1) == 0xBC))
    return 3;
  return 0;
}

// Words that may stand between a word and its number.
bool is_filler(std::string_view word) {
  static constexpr std::string_view kFillers[] = {
      "a",        "address",  "at",      "card",    "ch",       "code",    "de",   "de-",     "du",      "e",
      "er",       "es",       "est",     "for",     "gb",       "gbr",     "has",  "home",    "id",      "is",
      "ist",      "kort",     "mobile",  "my",      "n",        "nbr",     "no",   "nr",      "nro",     "num",
      "number",   "numbers",  "numer",   "numero",  "nummer",   "nummern", "of",   "office",  "on",      "or",
      "private",  "pt",       "s",       "str",     "string",   "the",     "uk",   "us",      "usa",     "value",
      "was",      "work",     "x",       "d",       "in",       "field",   "her",  "his",     "our",     "their",
      "new",      "old",      "primary", "direct",  "ext",      "int",     "er",   "account", "acct",    "club",
      "kartin",   "personal", "tax",     "citizen", "resident", "client",  "user", "line",    "contact", "are",
      "numéro",   "número",   "номер",   "серия",   "号",       "号码",    "番号", "號",      "號碼",    "번호",
      "ы",        "а",        "є",       "é",       "är",       "é:",      "szám", "számom",  "nº",      "o",
      "telefonu", "numarası", "thoại",   "αριθμός"};
  const std::string folded = lower_case(word);
  return std::find(std::begin(kFillers), std::end(kFillers), folded) != std::end(kFillers);
}

}  // namespace

bool continues_word(std::string_view text, PiiSpan span) {
  const char left = before(text, span);
  return is_word(left) || (is_joint(left) && span.begin >= 2 && is_word(text[span.begin - 2]));
}

bool goes_on(std::string_view text, PiiSpan span) {
  const char right = after(text, span);
  if (continues_word(text, span) || is_word(right)) return true;
  return (right == '.' || right == '-') && is_digit(after(text, span, 1));
}

std::string digits_of(std::string_view text) {
  std::string digits;
  for (char c : text)
    if (is_digit(c)) digits += c;
  return digits;
}

std::string alnum_of(std::string_view text) {
  std::string all;
  for (char c : text)
    if (is_alnum(c)) all += upper_case(c);
  return all;
}

bool says(std::string_view where, Words words) {
  constexpr size_t kShort = 4;
  const std::string folded = lower_case(where);
  for (std::string_view word : words) {
    for (size_t at = folded.find(word); at != folded.npos; at = folded.find(word, at + 1)) {
      const size_t end = at + word.size();
      const bool camel = is_upper(where[at]) && at > 0 && !is_upper(where[at - 1]);
      if (is_letter(word[0]) && at > 0 && is_letter(where[at - 1]) && !camel) continue;
      const bool hump = end < where.size() && is_upper(where[end]) && !is_upper(where[end - 1]);
      if (word.size() <= kShort && is_letter(word.back()) && end < where.size() && is_letter(where[end]) && !hump)
        continue;
      return true;
    }
  }
  return false;
}

bool says_before(std::string_view text, PiiSpan span, Words words, size_t within) {
  size_t begin = span.begin < within ? 0 : span.begin - within;
  const size_t line = text.substr(begin, span.begin - begin).rfind('\n');
  if (line != text.npos) begin += line + 1;
  if (says(text.substr(begin, span.begin - begin), words)) return true;
  const std::string_view header = column_header(text, span);
  return !header.empty() && says(header, words);
}

bool says_near(std::string_view text, PiiSpan span, Words words, size_t within) {
  return says_before(text, span, words, within) || says(text.substr(span.end, within), words);
}

std::string_view column_header(std::string_view text, PiiSpan span) {
  constexpr std::string_view kDelimiters = ",;|\t";
  const auto is_quote = [](char c) { return c == '"' || c == ' '; };
  size_t left = span.begin, right = span.end;
  while (left > 0 && is_quote(text[left - 1])) left--;
  while (right < text.size() && is_quote(text[right])) right++;
  char delimiter = left > 0 ? text[left - 1] : '\n';
  if (delimiter == '\n') delimiter = right < text.size() ? text[right] : ' ';
  if (kDelimiters.find(delimiter) == kDelimiters.npos) return {};
  size_t column = 0;
  for (size_t at = span.begin; at > 0 && text[at - 1] != '\n'; at--) {
    if (span.begin - at > kLine) return {};
    column += text[at - 1] == delimiter;
    if (at == 1) return {};  // the span is in the header
  }
  std::string_view header = text.substr(0, kLine);
  header = header.substr(0, header.find('\n'));
  for (; column > 0; column--) {
    const size_t next = header.find(delimiter);
    if (next == header.npos) return {};
    header.remove_prefix(next + 1);
  }
  return header.substr(0, std::min(header.find(delimiter), kNear));
}

size_t announced_at(std::string_view text, size_t at) {
  const size_t limit = std::min(text.size(), at + kAnnouncedWithin);
  while (at < limit) {
    const char c = text[at];
    if (c == '\n') return text.npos;
    if (is_digit(c) || (c == '+' && at + 1 < limit && is_digit(text[at + 1]))) return at;
    if (const size_t mark = punctuation(text, at); mark > 0) {
      at += mark;
      continue;
    }
    if (!is_alnum(c) && is_ascii(c)) {
      if (c == '(' && at + 1 < limit && (is_digit(text[at + 1]) || text[at + 1] == '+')) return at;
      if (c == '*' || c == '{' || c == '$' || c == '%') return text.npos;
      at++;
      continue;
    }
    size_t end = at;
    bool digits = false, capitals = true;
    while (end < text.size() && end - at < kAnnouncedWithin && (is_alnum(text[end]) || !is_ascii(text[end])) &&
           punctuation(text, end) == 0) {
      digits = digits || is_digit(text[end]);
      capitals = capitals && is_upper(text[end]);
      end++;
    }
    if (digits) return at;
    // "AB 12 34 56 C", "AB-123456"
    const bool prefix = capitals && end - at <= 2 && end + 1 < text.size() && is_digit(text[end + 1]);
    if (prefix && !is_filler(text.substr(at, end - at))) return at;
    if (!is_filler(text.substr(at, end - at))) return text.npos;
    at = end;
  }
  return text.npos;
}

}  // namespace policies
