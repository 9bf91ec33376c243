#include "policies/pii_shapes.h"

#include <algorithm>
#include <string>

#include "policies/pii_validate.h"

// None begins with a run of any length of ordinary characters: RE2 would have to follow it from each of its beginnings.

namespace policies {
namespace {

constexpr size_t kContext = 32;  // bytes before a shape in which a word tells what it is

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string_view inside(std::string_view text, PiiSpan span) { return text.substr(span.begin, span.end - span.begin); }
char before(std::string_view text, PiiSpan span) { return span.begin == 0 ? ' ' : text[span.begin - 1]; }
char after(std::string_view text, PiiSpan span, size_t by = 0) {
  return span.end + by < text.size() ? text[span.end + by] : ' ';
}

// Part of something longer: a number that goes on, an identifier, a version.
bool has_begun(std::string_view text, PiiSpan span) {
  const char left = before(text, span);
  const bool joint = left == '.' || left == '-' || left == '/' || left == '#';
  return is_word(left) || (joint && span.begin >= 2 && is_word(text[span.begin - 2]));
}
bool goes_on(std::string_view text, PiiSpan span) {
  const char right = after(text, span);
  if (has_begun(text, span) || is_word(right)) return true;
  return (right == '.' || right == '-') && is_digit(after(text, span, 1));
}

std::string digits_of(std::string_view text) {
  std::string digits;
  for (char c : text)
    if (is_digit(c)) digits += c;
  return digits;
}

// Whether one of these stands shortly before, in lower case.
bool said_before(std::string_view text, PiiSpan span, std::initializer_list<std::string_view> words,
                 size_t within = kContext) {
  const size_t begin = span.begin < within ? 0 : span.begin - within;
  std::string context(text.substr(begin, span.begin - begin));
  for (char& c : context)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return context.find(word) != context.npos; });
}

using Accepted = std::optional<PiiSpan>;

// Behind the members of a run that another member follows: "1." of "1.2.3", "ab:" of "ab:cd". An address, a number or a
// name that begins at a later member would have the run's joint before it, and so be part of something longer.
template <bool (*is_member)(char), size_t most, char joint>
size_t beyond_run(std::string_view text, PiiSpan span) {
  size_t next = span.begin;
  for (size_t at = next; at < text.size();) {
    const size_t member = at;
    while (at < text.size() && at - member <= most && is_member(text[at])) at++;
    if (at == member || at - member > most || at == text.size() || text[at] != joint) break;
    next = ++at;
  }
  return next;
}

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// From "://" to the last '@' before a slash. The secret is what stands between: user and password.
Accepted url_credentials(std::string_view text, PiiSpan span) {
  const PiiSpan secret{span.begin + 3, span.end - 1};
  if (span.begin == 0 || !is_word(before(text, span))) return {};
  const std::string_view credentials = inside(text, secret);
  return credentials.substr(credentials.find(':') + 1).find_first_of("<>{}$") == std::string_view::npos
             ? Accepted(secret)
             : Accepted();
}

// From '@' on. What stands before it is looked at from here: an expression that begins with any word would follow each
// of them to its end.
Accepted email(std::string_view text, PiiSpan span) {
  constexpr size_t kMaxLocal = 64, kMaxDomain = 253;
  const std::string_view domain = inside(text, span).substr(1);
  const size_t at = span.begin;
  const auto is_local = [](char c) { return is_word(c) || std::string_view(".%+-").find(c) != std::string_view::npos; };
  while (span.begin > 0 && at - span.begin <= kMaxLocal && is_local(text[span.begin - 1])) span.begin--;
  if (at - span.begin > kMaxLocal || domain.size() > kMaxDomain) return {};
  // Letters of other scripts, unless all that stands before is of one without blanks.
  size_t begin = span.begin;
  while (begin > 0 && at - begin <= kMaxLocal && (is_local(text[begin - 1]) || !is_ascii(text[begin - 1]))) begin--;
  if (at - begin <= kMaxLocal) span.begin = begin;
  while (span.begin < at && !is_word(text[span.begin]) && is_ascii(text[span.begin])) span.begin++;
  if (span.begin == at || text[at - 1] == '.') return {};
  if (domain.find("..") != domain.npos || after(text, span) == '@') return {};
  // Not addresses but file names: "icon@2x.png".
  const std::string_view last = domain.substr(domain.rfind('.') + 1);
  for (std::string_view ending : {"png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "json", "py"})
    if (last == ending) return {};
  return span;
}

Accepted ipv4(std::string_view text, PiiSpan span) {
  if (goes_on(text, span) || !valid_ipv4(inside(text, span))) return {};
  return said_before(text, span, {"version", "release", "build", "ver.", "rev."}, 12) ? Accepted() : Accepted(span);
}

Accepted ipv6(std::string_view text, PiiSpan span) {
  const char left = before(text, span), right = after(text, span);
  if (is_word(left) || left == ':' || left == '.' || is_word(right) || right == ':') return {};
  return valid_ipv6(inside(text, span)) ? Accepted(span) : Accepted();
}

Accepted mac(std::string_view text, PiiSpan span) {
  const char left = before(text, span), right = after(text, span);
  if (is_word(left) || left == ':' || left == '-' || is_word(right)) return {};
  if ((right == ':' || right == '-') && is_word(after(text, span, 1))) return {};
  const std::string digits = std::string(inside(text, span));
  const char separator = digits[2];
  if (std::count(digits.begin(), digits.end(), separator) != 5) return {};
  for (std::string_view nobody : {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "FF:FF:FF:FF:FF:FF"})
    if (digits == nobody) return {};
  return span;
}

Accepted ssn(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view shape = inside(text, span);
  if (shape[3] != shape[6]) return {};
  if (shape[3] == ' ' && !said_before(text, span, {"ssn", "social"})) return {};
  return valid_ssn(digits_of(shape)) ? Accepted(span) : Accepted();
}

Accepted card(std::string_view text, PiiSpan span) {
  if (has_begun(text, span) || text[span.begin] < '2' || text[span.begin] > '6') return {};  // nobody issues others
  // Other numbers may follow, as "exp 12/27" or a check code do: the longest part that is one.
  for (PiiSpan part = span; part.end > part.begin + 12; part.end--) {
    if (!is_digit(text[part.end - 1]) || goes_on(text, part)) continue;
    if (valid_card(digits_of(inside(text, part)))) return part;
  }
  return {};
}

// Blanks and capitals may follow that are not part of it: the country knows how long it is.
Accepted iban(std::string_view text, PiiSpan span) {
  if (is_word(before(text, span))) return {};
  const size_t length = iban_length(text.substr(span.begin, 2));
  std::string plain;
  for (size_t at = span.begin; at < span.end && plain.size() < length; at++) {
    if (text[at] != ' ') plain += text[at];
    span.end = plain.size() == length ? at + 1 : span.end;
  }
  return plain.size() == length && !is_word(after(text, span)) && valid_iban(plain) ? Accepted(span) : Accepted();
}

Accepted international_phone(std::string_view text, PiiSpan span) {
  const char left = before(text, span);
  if (is_word(left) || left == '+' || is_word(after(text, span))) return {};
  std::string digits = digits_of(inside(text, span));
  return valid_international_phone(digits) ? Accepted(span) : Accepted();
}

Accepted american_phone(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view shape = inside(text, span);
  const std::string digits = digits_of(shape);
  const bool plain = shape.find_first_not_of("0123456789") == shape.npos;
  if (!plain && digits == "1234567890") return span;  // nobody's, and everybody's example
  if (!valid_american_phone(digits)) return {};
  if (plain && !said_before(text, span, {"phone", "tel", "call", "mobile", "cell", "fax", "sms", "contact"})) return {};
  return span;
}

// As it is dialled inside a country, with a zero first, where a word says what it is: "Tel. 020 7946 0958".
Accepted national_phone(std::string_view text, PiiSpan span) {
  if (is_word(before(text, span)) || is_word(after(text, span))) return {};
  while (text[span.begin] != '0') span.begin++;
  if (before(text, span) == '(') span.begin--;
  const size_t digits = digits_of(inside(text, span)).size();
  return digits >= 7 && digits <= 12 ? Accepted(span) : Accepted();
}

Accepted bitcoin(std::string_view text, PiiSpan span) {
  return !is_word(before(text, span)) && !is_word(after(text, span)) && valid_bitcoin(inside(text, span))
             ? Accepted(span)
             : Accepted();
}

Accepted ethereum(std::string_view text, PiiSpan span) {
  const std::string_view digits = inside(text, span).substr(2);
  if (is_word(before(text, span)) || is_word(after(text, span)) || entropy(digits) < 2.5) return {};
  return span;
}

Accepted passport(std::string_view text, PiiSpan span) {
  // "passport no. C01X00T47": the number is the last word.
  size_t begin = span.end;
  while (begin > span.begin && is_word(text[begin - 1])) begin--;
  const PiiSpan number{begin, span.end};
  const std::string_view shape = inside(text, number);
  if (is_word(after(text, span)) || std::count_if(shape.begin(), shape.end(), is_digit) < 4) return {};
  return number;
}

constexpr PiiShape kShapes[] = {
    {"url_credentials", R"(://[^\s/@:"'<>]*:[^\s/@"'<>]+@)", url_credentials},
    {"email", R"(@[A-Za-z0-9](?:[A-Za-z0-9.\-]*[A-Za-z0-9])?\.[A-Za-z]{2,24})", email},
    {"mac_address", R"([0-9A-Fa-f]{2}[:\-](?:[0-9A-Fa-f]{2}[:\-]){4}[0-9A-Fa-f]{2})", mac, beyond_run<is_hex, 4, ':'>},
    {"ip_address", R"([0-9]{1,3}(?:\.[0-9]{1,3}){3})", ipv4, beyond_run<is_digit, 3, '.'>},
    {"ip_address", R"((?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4})", ipv6, beyond_run<is_hex, 4, ':'>},
    {"ip_address",
     R"((?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?::[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6}(?:(?:\.[0-9]{1,3}){3})?)",
     ipv6},
    {"ssn", R"([0-9]{3}[\- ][0-9]{2}[\- ][0-9]{4})", ssn},
    {"credit_card", R"([0-9]{13,19}|[0-9]{4,8}(?:[ \-][0-9]{3,8}){1,4})", card},
    {"phone", R"((?:\+|\b00)[1-9][0-9]{0,2}(?:[ .\-/]?\(?[0-9]{1,6}\)?){2,7})", international_phone},
    {"phone", R"((?:\+?1[\-. ]?)?(?:\([0-9]{3}\) ?|[0-9]{3}[\-. ]?)[0-9]{3}[\-. ]?[0-9]{4})", american_phone},
    {"phone",
     R"((?i:tel(?:efon|ephone)?|phone|mobile|fax)\.?(?: ?(?i:no\.?|nr\.?|number))?[ :=]{1,3}\(?0[0-9]{1,5}\)?(?:[ .\-/]{0,3}[0-9]{2,8}){1,5})",
     national_phone},
    {"iban", R"([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)", iban},
    {"crypto_address", R"(bc1[a-z0-9]{25,62}|[13][1-9A-HJ-NP-Za-km-z]{25,34})", bitcoin},
    {"crypto_address", R"(0x[0-9A-Fa-f]{40})", ethereum},
    {"passport", R"((?i:passport)[ \-_]?(?i:number|no\.?|nr\.?|#|id)?["']?(?: is|[ :=#"'])*[A-Z0-9]{6,9})", passport},
};

}  // namespace

std::span<const PiiShape> pii_shapes() { return kShapes; }

}  // namespace policies
