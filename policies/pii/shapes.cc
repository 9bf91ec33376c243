#include <algorithm>
#include <array>
#include <string>

#include "policies/pii/around.h"
#include "policies/pii/national_ids.h"
#include "policies/pii/validate.h"

// No expression begins with a run of ordinary characters of any length: RE2 would have to follow the run from each of
// its characters.

namespace policies {
namespace {

using Accepted = std::optional<PiiSpan>;

// From "://" to the last '@' before a slash. The secret is the text between them: user and password.
Accepted url_credentials(std::string_view text, PiiSpan span) {
  const PiiSpan secret{span.begin + 3, span.end - 1};
  if (span.begin == 0 || !is_word(before(text, span))) return {};
  const std::string_view credentials = inside(text, secret);
  return credentials.substr(credentials.find(':') + 1).find_first_of("<>{}$") == std::string_view::npos
             ? Accepted(secret)
             : Accepted();
}

// Character: one UTF-8 character of up to three bytes. Any other byte is a character of number 0 and length 1.
struct Character {
  uint32_t number = 0;
  size_t length = 1;
};
Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t by) { return at + by < text.size() ? static_cast<unsigned char>(text[at + by]) : 0u; };
  const auto follows = [&](size_t by) { return (byte(by) & 0xC0u) == 0x80u; };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) >= 0xC2 && byte(0) < 0xE0 && follows(1)) return {(byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  if (byte(0) >= 0xE0 && byte(0) < 0xF0 && follows(1) && follows(2))
    return {(byte(0) & 0xFu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
  return {};
}

// Letters of names in other scripts, without punctuation.
bool is_foreign_letter(uint32_t number) {
  return (number >= 0xC0 && number < 0x2000 && number != 0xD7 && number != 0xF7) ||
         (number >= 0x3041 && number < 0xA000) || (number >= 0xAC00 && number < 0xD7A4);
}

// The end of a domain that begins at `begin`. Words may follow without a blank: a label that began in Latin letters
// does not continue in another script.
size_t domain_end(std::string_view text, size_t begin, size_t end) {
  constexpr uint32_t kNotLatin = 0x370;
  bool latin = false;
  for (size_t at = begin; at < end;) {
    const Character next = character_at(text, at);
    if (next.number == '.' || next.number == '-') {
      latin = latin && next.number == '-';
    } else if (next.number < 0x80 || next.number < kNotLatin) {
      if (next.number == 0 || (next.number >= 0x80 && !is_foreign_letter(next.number))) return at;
      latin = true;
    } else if (latin || !is_foreign_letter(next.number)) {
      return at;
    }
    at += next.length;
  }
  return end;
}

bool is_local(char c) { return is_word(c) || std::string_view(".%+-").find(c) != std::string_view::npos; }

// Where the part before '@' begins; `at` itself if there is no valid part.
size_t local_begin(std::string_view text, size_t at) {
  constexpr size_t kMaxLocal = 64;
  if (at > 0 && text[at - 1] == '"') {  // "john smith"@example.org
    for (size_t begin = at - 1; begin > 0 && at - begin <= kMaxLocal && text[begin - 1] != '\n'; begin--)
      if (text[begin - 1] == '"') return begin + 1 < at - 1 ? begin - 1 : at;
    return at;
  }
  size_t begin = at;
  while (begin > 0 && at - begin <= kMaxLocal && is_local(text[begin - 1])) begin--;
  if (at - begin > kMaxLocal) return at;
  // Includes letters of other scripts, unless the text before is in a script that writes without blanks.
  size_t wide = begin;
  while (wide > 0 && at - wide <= kMaxLocal && (is_local(text[wide - 1]) || !is_ascii(text[wide - 1]))) wide--;
  while (wide < at && !is_ascii(text[wide]) && !is_foreign_letter(character_at(text, wide).number)) wide++;
  const bool mixed = begin < at && wide < begin && character_at(text, wide).number >= 0x2E80;
  if (at - wide <= kMaxLocal && !mixed) begin = wide;
  while (begin < at && !is_word(text[begin]) && is_ascii(text[begin])) begin++;
  return text[at - 1] == '.' ? at : begin;
}

// The expression begins at '@', and this function reads the part before it: an expression that begins with any word
// would follow each word to its end.
Accepted email(std::string_view text, PiiSpan span) {
  constexpr size_t kMaxDomain = 253;
  const size_t at = span.begin;
  if (at == 0) return {};
  span.end = domain_end(text, at + 1, span.end);
  while (span.end > at + 1 && (text[span.end - 1] == '.' || text[span.end - 1] == '-')) span.end--;
  const std::string_view domain = inside(text, {at + 1, span.end});
  const size_t dot = domain.rfind('.');
  if (domain.size() > kMaxDomain || dot == domain.npos || dot + 2 >= domain.size()) return {};
  if (domain.find("..") != domain.npos || after(text, span) == '@') return {};
  span.begin = local_begin(text, at);
  if (span.begin == at) return {};
  const std::string_view local = inside(text, {span.begin, at});
  if (span.begin >= 3 && text.substr(span.begin - 3, 3) == "://") return {};  // the user name in a URL
  if (local == "git" && after(text, span) == ':') return {};                  // git@example.org:owner/repository
  // No addresses: file names, "icon@2x.png", and units of systemd, "getty@tty1.service".
  const std::string_view last = domain.substr(dot + 1);
  for (std::string_view ending :
       {"png",  "jpg",     "jpeg",   "gif",    "svg",   "webp",  "css",   "js",    "ts",        "json",   "py",
        "html", "service", "socket", "target", "timer", "mount", "slice", "scope", "automount", "device", "swap"})
    if (last == ending) return {};
  return span;
}

using Parts = std::array<unsigned, 4>;
Parts parts_of(std::string_view address) {
  Parts parts{};
  size_t part = 0;
  for (char c : address) {
    if (c == '.') {
      part++;
    } else {
      parts[part] = parts[part] * 10 + static_cast<unsigned>(c - '0');
    }
  }
  return parts;
}

// Section and version numbers have small parts. An address with only small parts needs a word or a mark that names it.
bool is_small(const Parts& parts) {
  constexpr unsigned kSmall = 50;
  if (parts[0] == 10) return false;  // RFC 1918
  return std::all_of(parts.begin(), parts.end(), [](unsigned value) { return value < kSmall; });
}

// An address of four equal parts: 1.1.1.1, 9.9.9.9. A version may look the same: "OpenSSL 1.1.1.1", behind a name with
// a capital inside.
bool is_resolver(std::string_view text, PiiSpan span, const Parts& parts) {
  if (parts[0] != parts[1] || parts[1] != parts[2] || parts[2] != parts[3]) return false;
  size_t end = span.begin;
  if (end > 0 && text[end - 1] == ' ') end--;
  size_t begin = end;
  while (begin > 0 && is_letter(text[begin - 1])) begin--;
  const std::string_view name = text.substr(begin, end - begin);
  const bool small = std::any_of(name.begin(), name.end(), [](char c) { return is_letter(c) && !is_upper(c); });
  return !small || std::none_of(name.begin() + 1, name.end(), is_upper);
}

Accepted ipv4(std::string_view text, PiiSpan span) {
  if (goes_on(text, span) || !valid_ipv4(inside(text, span))) return {};
  if (says_before(text, span, {"version", "ver",       "release", "build",   "rev",  "revision", "firmware", "upgrade",
                               "update",  "downgrade", "oid",     "section", "sec.", "chapter",  "clause",   "figure",
                               "table",   "rfc",       "spec",    "ieee",    "ecma", "std"},
                  28))
    return {};
  const Parts parts = parts_of(inside(text, span));
  if (!is_small(parts) || is_resolver(text, span, parts)) return span;
  if (span.begin > 0 && text[span.begin - 1] == '@') return span;
  if ((after(text, span) == '/' || after(text, span) == ':') && is_digit(after(text, span, 1))) return span;
  return says_before(text, span,
                     {"ip",     "ipv4",    "addr",   "address", "host",       "server",    "client",  "from",
                      "src",    "dst",     "source", "peer",    "ping",       "dns",       "gateway", "via",
                      "subnet", "network", "listen", "bind",    "curl",       "ssh",       "proxy",   "node",
                      "remote", "connect", "inet",   "hop",     "nameserver", "forwarded", "route",   "http"},
                     24)
             ? Accepted(span)
             : Accepted();
}

Accepted ipv6(std::string_view text, PiiSpan span) {
  const char left = before(text, span), right = after(text, span);
  if (is_word(left) || left == ':' || left == '.' || is_word(right) || right == ':') return {};
  if (inside(text, span) == "::1" && left == '[' && span.begin > 1 &&
      (is_word(text[span.begin - 2]) || text[span.begin - 2] == ']' || text[span.begin - 2] == ')'))
    return {};  // a slice: text[::1]
  const std::string_view shape = inside(text, span);
  if (shape.size() == 23 && shape[2] == ':' && shape[5] == ':' && shape[20] == ':') return {};  // eight bytes: EUI-64
  return valid_ipv6(shape) ? Accepted(span) : Accepted();
}

Accepted mac(std::string_view text, PiiSpan span) {
  const char left = before(text, span), right = after(text, span);
  if (is_word(left) || left == ':' || left == '-' || is_word(right)) return {};
  if ((right == ':' || right == '-') && is_word(after(text, span, 1))) return {};
  const std::string digits = std::string(inside(text, span));
  const char separator = digits[2];
  if (std::count(digits.begin(), digits.end(), separator) != 5) return {};
  for (std::string_view placeholder : {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "FF:FF:FF:FF:FF:FF"})
    if (digits == placeholder) return {};
  return span;
}

// Three times four hexadecimal digits, as switches write a MAC address.
Accepted dotted_mac(std::string_view text, PiiSpan span) {
  if (continues_word(text, span) || is_word(after(text, span))) return {};
  if (after(text, span) == '.' && is_word(after(text, span, 1))) return {};
  const std::string_view shape = inside(text, span);
  const bool digits = std::any_of(shape.begin(), shape.end(), is_digit);
  const bool letters = std::any_of(shape.begin(), shape.end(), is_letter);
  if (digits && letters) return span;
  return says_near(text, span, {"mac", "vlan", "arp", "ether", "dynamic", "bssid"}) ? Accepted(span) : Accepted();
}

// Words that name numbers of other kinds, in the 20 bytes before the number.
bool is_called_otherwise(std::string_view text, PiiSpan span) {
  return says_before(text, span,
                     {"part", "sku",         "item", "order", "invoice", "ticket",  "serial",  "catalog", "model",
                      "ref",  "case",        "lot",  "batch", "article", "product", "request", "trace",   "span_id",
                      "txn",  "transaction", "seq",  "event", "session", "user_id", "job",     "message", "tracking"},
                     20);
}

// Whether numbers of the same form nearby are invalid, so that this number is not of this kind either. True if at least
// 1 in 20 of the numbers nearby is invalid, and there are at least 3.
template <class IsOne>
bool others_are_not(std::string_view text, PiiSpan span, std::string_view picture, IsOne is_one) {
  constexpr size_t kAround = 768;
  const size_t first = span.begin < kAround ? 0 : span.begin - kAround;
  const std::string_view around = text.substr(first, 2 * kAround);
  size_t seen = 0, wrong = 0;
  for (size_t at = 0; at + picture.size() <= around.size();) {
    if (!is_digit(around[at]) || (at > 0 && is_digit(around[at - 1]))) {
      at++;
      continue;
    }
    size_t fits = 0;
    while (fits < picture.size() &&
           (picture[fits] == '9' ? is_digit(around[at + fits]) : around[at + fits] == picture[fits]))
      fits++;
    const PiiSpan pii_span{first + at, first + at + picture.size()};
    if (fits < picture.size() || goes_on(text, pii_span)) {
      at++;
      continue;
    }
    seen++;
    wrong += !is_one(inside(text, pii_span));
    at += picture.size();
  }
  return seen >= 3 && wrong * 20 >= seen;
}

Accepted ssn(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view shape = inside(text, span);
  if (shape[3] != shape[6] || !valid_ssn(digits_of(shape))) return {};
  if (says_near(text, span, {"ssn", "social", "ss#"})) return span;
  if (shape[3] == ' ' || is_called_otherwise(text, span)) return {};
  const auto is_ssn = [](std::string_view name) { return valid_ssn(digits_of(name)); };
  return others_are_not(text, span, "999-99-9999", is_ssn) ? Accepted() : Accepted(span);
}

Accepted card(std::string_view text, PiiSpan span) {
  if (continues_word(text, span) || text[span.begin] < '2' || text[span.begin] > '6')
    return {};  // no issuer has others
  static const std::initializer_list<std::string_view> kCards = {
      "card",  "visa",  "mastercard", "amex",  "diners", "discover", "jcb",  "maestro", "credit",
      "debit", "karte", "tarjeta",    "carte", "cc",     "unionpay", "kort", "pan",     "payment"};
  // Other numbers may follow, such as "exp 12/27" or a check code: the longest valid part counts.
  for (PiiSpan part = span; part.end > part.begin + 11; part.end--) {
    if (!is_digit(text[part.end - 1]) || goes_on(text, part)) continue;
    const std::string_view shape = inside(text, part);
    const std::string digits = digits_of(shape);
    if (!valid_card(digits) && !valid_rare_card(digits)) continue;
    if (says_near(text, part, kCards)) return part;
    if (!valid_card(digits)) continue;
    if (digits.size() < shape.size()) return part;
    // A bare number: one of forty random numbers passes the check, but its neighbours do not.
    if (is_called_otherwise(text, part) || says_before(text, part, {"id"}, 12)) return {};
    return others_are_not(text, part, std::string(digits.size(), '9'), valid_card) ? Accepted() : Accepted(part);
  }
  return {};
}

// Blanks and capitals may follow that are not part of the IBAN: the country code gives its length.
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
  const std::string_view shape = inside(text, span);
  std::string digits = digits_of(shape);
  if (shape[0] != '0') return valid_international_phone(digits) ? Accepted(span) : Accepted();
  if (left == '.' || left == '-' || left == ',') return {};
  if (left == ' ' && span.begin > 1 && is_digit(text[span.begin - 2])) return {};  // a group of a longer number
  // As dialled: with 00 or, from North America, with 011.
  digits.erase(0, digits.starts_with("011") ? 3 : 2);
  if (!valid_international_phone(digits) || !has_country_code(digits)) return {};
  const bool bare = shape.find_first_not_of("0123456789") == shape.npos;
  const bool is_announced = says_before(text, span,
                                        {"phone", "tel", "call", "mobile", "cell", "fax", "sms", "dial", "ring",
                                         "contact", "telefon", "handy", "whatsapp", "hotline"});
  return is_announced || (!bare && digits.size() >= 9) ? Accepted(span) : Accepted();
}

Accepted american_phone(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view shape = inside(text, span);
  const std::string digits = digits_of(shape);
  const bool plain = shape.find_first_not_of("0123456789") == shape.npos;
  // Both gaps or no gap: "850315-1234" and "584.5420461" are other numbers.
  const auto gap = [&](size_t at) { return at < shape.size() && !is_digit(shape[at]); };
  if (!plain && is_digit(shape[0]) && digits.size() == 10 && !(gap(3) && gap(7))) return {};
  if (!plain && digits == "1234567890") return span;  // no person's number, and a common example
  if (!valid_american_phone(digits)) return {};
  if (plain && !says_before(text, span, {"phone", "tel", "call", "mobile", "cell", "fax", "sms", "contact"})) return {};
  return span;
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

// An id with the separators of its country.
Accepted national_id(std::string_view text, PiiSpan span) {
  if (goes_on(text, span)) return {};
  const std::string_view written = inside(text, span);
  // These forms also fit other numbers: a word must be near.
  const std::string id = alnum_of(written);
  if (id.size() == 9 && (is_digit(written[0]) || is_upper(written[1])))
    return (written.find(' ') != written.npos ? certain_national_id(written) : valid_national_id(id)) &&
                   (written.find(' ') != written.npos ||
                    says_near(text, span, {"nino", "insurance", "hmrc", "ni", "dni", "nif", "documento", "tax"}))
               ? Accepted(span)
               : Accepted();
  if (std::all_of(id.begin(), id.end(), is_digit) && written.find_first_of("-+") == written.size() - 5)
    return says_near(text, span, {"personnummer", "personnr", "pnr", "swedish", "svensk", "cpr", "patient"}) &&
                   valid_national_id(id)
               ? Accepted(span)
               : Accepted();
  return certain_national_id(written) ? Accepted(span) : Accepted();
}

constexpr PiiShape kShapes[] = {
    {"url_credentials", R"(://[^\s/@:"'<>]*:[^\s/@"'<>]+@)", url_credentials},
    {"email",
     R"(@[A-Za-z0-9\x80-\xff](?:[A-Za-z0-9.\-\x80-\xff]*[A-Za-z0-9\x80-\xff])?\.(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9\-]{2,59}|[\x80-\xff]{2,64}))",
     email},
    {"mac_address", R"(\b[0-9A-Fa-f]{2}[:\-](?:[0-9A-Fa-f]{2}[:\-]){4}[0-9A-Fa-f]{2})", mac,
     beyond_run<is_hex, 4, ':'>},
    {"mac_address", R"(\b[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})", dotted_mac},
    {"ip_address", R"(\b[0-9]{1,3}(?:\.[0-9]{1,3}){3})", ipv4, beyond_run<is_digit, 3, '.'>},
    {"ip_address", R"(\b(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4})", ipv6, beyond_run<is_hex, 4, ':'>},
    {"ip_address",
     R"((?:\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6}|\B)::[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6}(?:(?:\.[0-9]{1,3}){3})?)",
     ipv6},
    {"ssn", R"(\b[0-9]{3}[\- ][0-9]{2}[\- ][0-9]{4})", ssn},
    {"credit_card", R"(\b(?:[0-9]{12,19}|[0-9]{4,8}(?:[ \-][0-9]{3,8}){1,4}))", card},
    {"phone", R"((?:\+|\b00|\b011[ \-]?)[1-9][0-9]{0,2}(?:[ .\-/]?\(?[0-9]{1,6}\)?){2,7})", international_phone},
    {"phone",
     R"((?:(?:\+|\b)1[\-. ]?(?:\([0-9]{3}\) ?|[0-9]{3}[\-. ]?)|\([0-9]{3}\) ?|\b[0-9]{3}[\-. ]?)[0-9]{3}[\-. ]?[0-9]{4})",
     american_phone},
    {"iban", R"(\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)", iban},
    {"crypto_address", R"(\b(?:bc1[a-z0-9]{25,62}|[13][1-9A-HJ-NP-Za-km-z]{25,34}))", bitcoin},
    {"crypto_address", R"(\b0x[0-9A-Fa-f]{40})", ethereum},
    {"national_id",
     R"(\b(?:[0-9]{6}[\-+A-FU-Y][0-9]{3}[0-9A-Z]|[0-9]{6}(?:[0-9]{2})?[\-+][0-9]{4}|[0-9]{6}/[0-9]{4}|[0-9]{6} [0-9]{5}|[0-9]{6}-[1-8][0-9]{6}|[0-9]{8}-?[A-Z]|[0-9]{2}-[0-9]{8}-[0-9]|[1-8][0-9]{16}[0-9X])"
     R"(|[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}|[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2})"
     R"(|[12] [0-9]{2} [0-9]{2} [0-9][0-9AB] [0-9]{3} [0-9]{3} [0-9]{2}|[A-Z]{6}[0-9]{2}[A-T][0-9]{2}[A-Z][0-9]{3}[A-Z]|[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9])"
     R"(|[A-Z][0-9]{7}[A-Z]|[A-Z][1289][0-9]{8}|[A-Z]{5}[0-9]{4}[A-Z]|[A-Z][0-9]{6}\([0-9A]\)|[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]))",
     national_id},
};

}  // namespace

std::span<const PiiShape> pii_shapes() { return kShapes; }

}  // namespace policies
