// Announced secrets: the value after a name such as password, api_key or Authorization. The expressions find the word;
// name and value are then read from its place.
#include <algorithm>

#include "policies/pii/around.h"
#include "policies/pii/validate.h"
#include "supervisor/base/ascii.h"

namespace policies {
namespace {

constexpr size_t kMaxAnnouncedSecret = 2048;
constexpr size_t kMaxName = 40;

using Accepted = std::optional<PiiSpan>;

// The whole name in code or configuration around a word: "spring.datasource.password", "clientSecret".
PiiSpan name_around(std::string_view text, PiiSpan word) {
  PiiSpan name = word;
  const auto is_part = [](char c) { return is_word(c) || c == '-' || c == '$'; };
  while (name.begin > 0 && word.begin - name.begin < kMaxName && is_part(text[name.begin - 1])) name.begin--;
  while (name.end < text.size() && name.end - word.end < kMaxName && is_part(text[name.end])) name.end++;
  return name;
}

// True for names that have a secret's word but no secret's value: "tokenUrl", "password_file", "nextPageToken".
bool names_no_secret(std::string_view text, PiiSpan name, PiiSpan word) {
  const std::string behind = lower_case(text.substr(word.end, name.end - word.end));
  for (std::string_view part :
       {"url",    "uri",         "endpoint", "type",    "name",   "path",     "file",  "dir",     "expir",
        "ttl",    "count",       "limit",    "length",  "size",   "policy",   "regex", "pattern", "field",
        "label",  "hint",        "prefix",   "suffix",  "format", "requir",   "min",   "max",     "ref",
        "env",    "placeholder", "style",    "algo",    "issuer", "audience", "scope", "rotat",   "strength",
        "reset",  "auth_method", "izer",     "_id",     "ids",    "header",   "valid", "manager", "param",
        "bucket", "rate",        "usage",    "version", "budget", "per_",     "class", "factory", "provider"})
    if (behind.find(part) != behind.npos) return true;
  const std::string front = lower_case(text.substr(name.begin, word.begin - name.begin));
  const bool is_token = lower_case(inside(text, word)).find("token") != std::string::npos;
  for (std::string_view part :
       {"skip", "next", "page", "continu", "sync",    "cancel",  "cursor", "prev",   "max",    "num",
        "eos_", "bos_", "pad_", "stop_",   "special", "current", "input",  "output", "prompt", "completion"})
    if (is_token && front.find(part) != front.npos) return true;
  return false;
}

// Tells a secret from an ordinary word. A secret has digits, letters of both cases, or letters that form no word.
bool is_no_word(std::string_view secret) {
  if (secret.find_first_of("0123456789") != secret.npos) return entropy(secret) >= 2.5;
  const bool small = std::any_of(secret.begin(), secret.end(), is_lower);
  const bool large = std::any_of(secret.begin() + 1, secret.end(), is_upper);
  if (small && large) return entropy(secret) >= 2.5;
  return secret.size() >= 16 && std::all_of(secret.begin(), secret.end(), is_lower) && entropy(secret) >= 3.3;
}

// True for a value that code takes from another place: "settings.API_KEY", "getToken()", "https://...", "./key.pem".
bool is_reference(std::string_view value) {
  if (value.find("://") != value.npos || value[0] == '/' || value.starts_with("./") || value.starts_with("~/") ||
      value.starts_with("..") || value.starts_with("\\\\"))
    return true;
  if (value.find('(') != value.npos && value.find(')') > value.find('(')) return true;
  if (const size_t index = value.find('[');
      index > 0 && index < value.size() && is_word(value[index - 1]) && value.find_first_of("!@#%^&*") == value.npos)
    return true;  // auth[2]
  // Names of code joined by dots.
  size_t parts = 1, letters = 0;
  for (size_t i = 0; i < value.size(); i++) {
    if (value[i] == '.') {
      if (i == 0 || i + 1 == value.size() || !is_letter(value[i + 1])) return false;
      parts++;
    } else if (!is_word(value[i]) && value[i] != '[' && value[i] != ']') {
      return false;
    }
    letters += is_letter(value[i]) || value[i] == '_' || value[i] == '.';
  }
  return parts > 1 && letters * 10 >= value.size() * 9;
}

// "ApiKeyHeader", "api_key_for_tests", "client_secret_basic": words joined like a name in code, without digits.
bool is_identifier(std::string_view value) {
  size_t joints = 0, longest = 0, run = 0;
  for (size_t i = 0; i < value.size(); i++) {
    const char c = value[i];
    const bool hump = i > 0 && is_upper(c) && !is_upper(value[i - 1]);
    if (c == '_' || c == '-' || hump) {
      joints++;
      run = hump ? 1 : 0;
    } else if (is_letter(c)) {
      run++;
    } else {
      return false;
    }
    longest = std::max(longest, run);
  }
  return joints > 0 && joints * 4 <= value.size() && longest >= 4;
}

// "Ctrl+Shift+K": keys to press.
bool is_shortcut(std::string_view value) {
  const size_t plus = value.find('+');
  if (plus == value.npos) return false;
  const std::string first = lower_case(value.substr(0, plus));
  for (std::string_view reserved : {"ctrl", "control", "alt", "shift", "cmd", "command", "meta", "super", "option"})
    if (first == reserved) return true;
  return false;
}

// "required|min:8": the rules of a form.
bool is_rule_list(std::string_view value) {
  const size_t bar = value.find('|');
  if (bar == value.npos) return false;
  const std::string_view first = value.substr(0, bar);
  for (std::string_view rule : {"required", "nullable", "sometimes", "string", "bail", "confirmed", "present"})
    if (first == rule) return true;
  return false;
}

// "SecretManager2": a name in code with a number at its end.
bool is_numbered_identifier(std::string_view value) {
  if (value.size() > 1 && is_digit(value.back())) value.remove_suffix(1);
  return is_identifier(value);
}

bool ends_value(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' ||
         std::string_view("\"'`,;<>").find(c) != std::string_view::npos;
}

// "&page=2" of a URL.
bool next_parameter(std::string_view text, size_t at) {
  if (text[at] != '&') return false;
  size_t end = at + 1;
  while (end < text.size() && end - at < kMaxName && is_word(text[end])) end++;
  return end > at + 1 && end < text.size() && text[end] == '=';
}

struct AnnouncedValue {
  PiiSpan span;
  bool quoted = false, reply = false;  // said: after "is", not after a sign
};

// The value behind a name: after = : := => -> > or "is", and perhaps after a quote.
std::optional<AnnouncedValue> value_behind(std::string_view text, PiiSpan name) {
  size_t at = name.end;
  const bool tagged = before(text, name) == '<';
  const auto skip_blanks = [&](size_t max) {
    while (at < text.size() && max-- > 0 && (text[at] == ' ' || text[at] == '\t')) at++;
  };
  AnnouncedValue value;
  if (at < text.size() && text[at] == '\\') at++;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'' || text[at] == '`' || text[at] == ']')) at++;
  if (at < text.size() && (text[at] == ']' || text[at] == ')')) at++;
  skip_blanks(4);
  bool sign = false;
  if (at < text.size() && text[at] == '>' && !tagged) return {};
  if (text.substr(at).starts_with("is ")) {
    at += 3;
    sign = value.reply = true;
  } else if (text.substr(at).starts_with("\xEF\xBC\x9A")) {  // a colon of full width
    at += 3;
    sign = true;
  } else {
    while (at < text.size() && (text[at] == ':' || text[at] == '=' || text[at] == '>' || text[at] == '-' ||
                                text[at] == '!' || text[at] == ' ')) {
      if (text[at] == '!') return {};  // "!=" is a comparison
      sign = sign || text[at] != ' ';
      if (text[at] == '-' && (at + 1 >= text.size() || text[at + 1] != '>')) break;
      at++;
    }
  }
  if (!sign) return {};
  skip_blanks(4);
  if (at < text.size() && (text[at] == '@' || text[at] == 'b' || text[at] == 'r') && at + 1 < text.size() &&
      (text[at + 1] == '"' || text[at + 1] == '\''))
    at++;
  if (at < text.size() && text[at] == '\\') at++;
  const char quote = at < text.size() ? text[at] : ' ';
  if (quote == '"' || quote == '\'' || quote == '`') {
    size_t end = ++at;
    while (end < text.size() && end - at <= kMaxAnnouncedSecret && text[end] != quote && text[end] != '\n' &&
           text[end] != ' ')
      end += text[end] == '\\' && text.substr(end + 1, 1) != "\"" ? 2 : 1;
    if (end < text.size() && text[end] == quote && end > at) {
      value.quoted = true;
      value.span = {at, text[end - 1] == '\\' ? end - 1 : end};
      return value;
    }
  }
  size_t end = at;
  while (end < text.size() && end - at <= kMaxAnnouncedSecret && !ends_value(text[end]) && !next_parameter(text, end))
    end++;
  while (end > at && std::string_view(".,;:)]}").find(text[end - 1]) != std::string_view::npos) end--;
  value.span = {at, end};
  return value;
}

bool has_any(std::string_view text, bool (*is)(char)) { return std::any_of(text.begin(), text.end(), is); }
bool is_sign(char c) { return is_ascii(c) && !is_alnum(c) && c != '_'; }

// password: hunter2
Accepted password(std::string_view text, PiiSpan word) {
  while (word.end > word.begin + 1 && text[word.end - 1] == '_') word.end--;
  const PiiSpan name = name_around(text, word);
  if (is_letter(before(text, word)) && is_letter(text[word.begin]) && !is_upper(text[word.begin])) return {};
  const std::string_view rest = inside(text, {word.end, name.end});
  if (names_no_secret(text, name, word) ||
      (!rest.empty() && (rest == "es" || rest.starts_with("ed") || rest.starts_with("ing"))))
    return {};
  const auto value = value_behind(text, name);
  if (!value) return {};
  const std::string_view secret = inside(text, value->span);
  if (secret.size() < 4 || secret.size() > kMaxAnnouncedSecret || is_placeholder(secret)) return {};
  if (is_reference(secret) && !value->quoted) return {};
  if (secret[0] == '/' || secret.find("://") != secret.npos || is_rule_list(secret)) return {};
  if (value->reply)
    return secret.size() >= 6 && has_any(secret, is_digit) && has_any(secret, is_letter) ? Accepted(value->span)
                                                                                         : Accepted();
  const bool digits = has_any(secret, is_digit), letters = has_any(secret, is_letter), signs = has_any(secret, is_sign);
  const bool counted = after(text, value->span) == ' ' && is_letter(after(text, value->span, 1));
  if (counted && !letters && !signs && !value->quoted && inside(text, word) == "pass") return {};  // pass: 212 tests
  const bool strong = (digits && letters) ||
                      (signs && (letters || digits) && secret.size() >= 5 && (value->quoted || digits)) ||
                      (digits && secret.size() >= 6 && value->quoted);
  if (strong && is_identifier(secret) && !value->quoted) return {};
  return strong || (secret.size() >= 8 && !is_identifier(secret) && is_no_word(secret)) ? Accepted(value->span)
                                                                                        : Accepted();
}

// "api_key": "...", SECRET=..., token := ...
Accepted key(std::string_view text, PiiSpan word) {
  const PiiSpan name = name_around(text, word);
  if (names_no_secret(text, name, word)) return {};
  const auto value = value_behind(text, name);
  if (!value) return {};
  const std::string_view secret = inside(text, value->span);
  if (secret.size() < 8 || secret.size() > kMaxAnnouncedSecret || is_placeholder(secret)) return {};
  if (is_reference(secret) || is_numbered_identifier(secret) || is_shortcut(secret)) return {};
  return is_no_word(secret) ? Accepted(value->span) : Accepted();
}

// For a value that is too long for a secret: the end of the value, so that the words within it are not examined one by
// one.
size_t beyond_value(std::string_view text, PiiSpan word) {
  const auto value = value_behind(text, name_around(text, word));
  return value && value->span.end - value->span.begin >= kMaxAnnouncedSecret ? value->span.end : word.begin;
}

// A value without a sign before it: the token aZ3k...; Authorization: Bearer ...
Accepted bare(std::string_view text, PiiSpan span) {
  size_t begin = span.end;
  while (begin > span.begin && text[begin - 1] != ' ' && text[begin - 1] != '\t') begin--;
  size_t end = span.end;
  while (end > begin && std::string_view(".,;:)]}").find(text[end - 1]) != std::string_view::npos) end--;
  const std::string_view secret = inside(text, {begin, end});
  if (is_letter(before(text, span)) || secret.size() < 16 || secret.size() > kMaxAnnouncedSecret ||
      is_placeholder(secret))
    return {};
  return !is_reference(secret) && !is_identifier(secret) && is_no_word(secret) ? Accepted(PiiSpan{begin, end})
                                                                               : Accepted();
}

// api_key_aZ3k...
Accepted joined_key(std::string_view text, PiiSpan span) {
  const std::string_view secret = inside(text, span);
  if (is_word(before(text, span)) || entropy(secret) < 2.5 || is_placeholder(secret) || is_identifier(secret))
    return {};
  return has_any(secret, is_digit) ? Accepted(span) : Accepted();
}

constexpr PiiShape kAnnouncedSecrets[] = {
    {"api_key",
     R"((?i:passw(?:or)?d|passwort|passphrase|passcode|kennwort|wachtwoord|contrase\xc3\xb1a)|(?:\b|_)(?i:pwd|mot[ _]de[ _]passe|mdp|clave|senha|l\xc3\xb6senord|has\xc5\x82o|heslo|salasana|parola|adgangskode|passord|pass|pw)(?:\b|_)|[a-z]Pwd\b)"
     "|\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|\xd0\x9f\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|"
     "\xe5\xaf\x86\xe7\xa0\x81|\xe5\xaf\x86\xe7\xa2\xbc"
     "|\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8",
     password, beyond_value},
    {"api_key",
     R"((?i:api[_\- ]?key|access[_\- ]?key|account[_\- ]?key|secret[_\- ]?key|private[_\- ]?key|encryption[_\- ]?key|signing[_\- ]?key|master[_\- ]?key|shared[_\- ]?access[_\- ]?key|app[_\- ]?key|auth[_\- ]?key|license[_\- ]?key|client[_\- ]?secret|token|secret|credential))",
     key, beyond_value},
    {"api_key", R"((?i:api[_\-]?key|token|secret|app key)[ \t]{1,4}[A-Za-z0-9_\-]{20,})", bare},
    {"api_key", R"((?i:bearer|basic|ssws) [A-Za-z0-9._~+/\-]{16,}=*)", bare},
    {"api_key", R"(\b(?i:api[_\-]?key|token|secret)_[A-Za-z0-9]{20,})", joined_key},
};

}  // namespace

std::span<const PiiShape> announced_secret_shapes() { return kAnnouncedSecrets; }

}  // namespace policies
