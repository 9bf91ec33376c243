// Secrets: keys and tokens by the marks that their makers gave them, and what stands after a word that announces one.
#include <algorithm>

#include "policies/pii_shapes.h"
#include "policies/pii_validate.h"

namespace policies {
namespace {

constexpr size_t kMaxSecret = 4096;
constexpr size_t kMaxPrivateKey = 64 * 1024;

using Accepted = std::optional<PiiSpan>;

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Accepted marked(std::string_view text, PiiSpan span) {
  if (span.begin > 0 && is_word(text[span.begin - 1])) return {};
  const std::string_view secret = text.substr(span.begin, span.end - span.begin);
  return secret.size() > kMaxSecret || entropy(secret) < 2.5 ? Accepted() : Accepted(span);
}

// From its second part on; its header is looked at from there.
Accepted json_web_token(std::string_view text, PiiSpan span) {
  const auto is_part = [](char c) { return is_word(c) || c == '-'; };
  const size_t dot = span.begin;
  while (span.begin > 0 && dot - span.begin <= kMaxSecret && is_part(text[span.begin - 1])) span.begin--;
  const std::string_view header = text.substr(span.begin, dot - span.begin);
  const size_t mark = header.find("eyJ");
  if (mark == header.npos || header.size() < mark + 11) return {};
  return marked(text, {span.begin + mark, span.end});
}

// To its end line: the next line of dashes.
Accepted private_key(std::string_view text, PiiSpan span) {
  constexpr std::string_view kDashes = "-----", kEnd = "-----END";
  const std::string_view rest = text.substr(span.end, kMaxPrivateKey);
  const size_t end = rest.find(kDashes);
  if (end == rest.npos || !rest.substr(end).starts_with(kEnd)) return {};
  const size_t last = rest.find(kDashes, end + kEnd.size());
  return PiiSpan{span.begin, span.end + (last == rest.npos ? end : last + kDashes.size())};
}

// A sentence goes on with words; a secret has digits, letters of both cases, or letters that make no word.
bool is_no_word(std::string_view secret) {
  if (secret.find_first_of("0123456789") != secret.npos) return entropy(secret) >= 2.5;
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool lower = std::any_of(secret.begin(), secret.end(), is_lower);
  const bool upper = std::any_of(secret.begin() + 1, secret.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (lower && upper) return entropy(secret) >= 2.5;
  return secret.size() >= 16 && std::all_of(secret.begin(), secret.end(), is_lower) && entropy(secret) >= 3.3;
}

// The value after a name: password = "...", "api_key": "...", Authorization: Bearer ...
Accepted announced(std::string_view text, PiiSpan span) {
  size_t begin = span.end;
  while (begin > span.begin && std::string_view("\"'`:=, \t").find(text[begin - 1]) == std::string_view::npos) begin--;
  size_t end = span.end;
  while (end > begin && std::string_view(".,;:)]}").find(text[end - 1]) != std::string_view::npos) end--;
  const std::string_view secret = text.substr(begin, end - begin);
  if (secret.size() < 8 || secret.size() > kMaxSecret || is_placeholder(secret)) return {};
  return is_no_word(secret) ? Accepted(PiiSpan{begin, end}) : Accepted();
}

constexpr PiiShape kSecrets[] = {
    {"private_key", R"(-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)", private_key},
    {"api_key", R"(\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*)", json_web_token},
    {"api_key", R"((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})", marked},                            // AWS
    {"api_key", R"(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,})", marked},        // GitHub
    {"api_key", R"(gl(?:pat|dt|rt|cbt|ptt|ft)-[A-Za-z0-9_\-]{20,})", marked},                 // GitLab
    {"api_key", R"(xox[abeoprs]-[A-Za-z0-9\-]{10,}|xapp-[0-9]-[A-Za-z0-9\-]{10,})", marked},  // Slack
    {"api_key", R"(https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/+]{20,})", marked},
    {"api_key", R"((?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,})", marked},  // Stripe
    {"api_key", R"(sk-(?:ant-|proj-|svcacct-|or-)?[A-Za-z0-9_\-]{24,})", marked},  // OpenAI, Anthropic, ...
    {"api_key", R"(AIza[A-Za-z0-9_\-]{35}|ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{28})", marked},  // Google
    {"api_key", R"(SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64})", marked},                            // SendGrid
    {"api_key", R"((?:AC|SK)[0-9a-f]{32})", marked},                                                       // Twilio
    {"api_key", R"(npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_\-]{50,}|hf_[A-Za-z0-9]{30,})", marked},
    {"api_key", R"(do[opr]_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}|sq0[a-z]{3}-[A-Za-z0-9_\-]{22,})",
     marked},
    {"api_key", R"((?:glsa_|dapi|lin_api_|ntn_|figd_|PMAK-|rubygems_|dckr_pat_|tskey-)[A-Za-z0-9_\-]{24,})", marked},
    {"api_key", R"([0-9]{8,10}:AA[A-Za-z0-9_\-]{33})", marked},  // Telegram
    {"api_key",
     R"((?i:api[_\- ]?key|access[_\- ]?key|account[_\- ]?key|secret[_\- ]?key|client[_\- ]?secret|auth[_\- ]?token|access[_\- ]?token|secret|token|passw(?:or)?d|passphrase|pwd|credential)s?[A-Za-z0-9_]{0,16}["'`]?[ \t]{0,4}(?::=|=>|[:=]|\bis\b)[ \t]{0,4}["'`]?[^\s"'`,;<>]{8,})",
     announced},
    {"api_key", R"((?i:api[_\-]?key|token|secret)[ \t]{1,4}[A-Za-z0-9_\-]{20,})", announced},
    {"api_key", R"((?i:bearer|basic) [A-Za-z0-9._~+/\-]{16,}=*)", announced},
    {"api_key", R"((?i:api[_\-]?key|token|secret)_[A-Za-z0-9]{20,})", marked},
};

}  // namespace

std::span<const PiiShape> secret_shapes() { return kSecrets; }

}  // namespace policies
