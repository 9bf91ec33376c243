// Secrets: keys and tokens with marks of their makers. Secrets that a word announces are in pii/announced.cc.
#include <algorithm>

#include "policies/pii/around.h"
#include "policies/pii/validate.h"
#include "supervisor/base/ascii.h"

namespace policies {
namespace {

constexpr size_t kMaxMarkedSecret = 4096;
constexpr size_t kMaxPrivateKey = 64 * 1024;

using Accepted = std::optional<PiiSpan>;

// "sk-learn-contrib-package-name": words joined by dashes, with the same beginning as a key.
bool is_name(std::string_view secret) {
  const auto joints = std::count(secret.begin(), secret.end(), '-');
  return secret.starts_with("sk-") && joints >= 3 &&
         std::all_of(secret.begin(), secret.end(), [](char c) { return c == '-' || is_lower(c); });
}

Accepted marked(std::string_view text, PiiSpan span) {
  if (is_word(before(text, span))) return {};
  const std::string_view secret = inside(text, span);
  if (secret.size() > kMaxMarkedSecret || entropy(secret) < 2.5 || is_example(secret) || is_name(secret)) return {};
  return span;
}

// A secret with a mark in its middle: `least` to `most` members stand before the mark.
template <bool (*is_member)(char), size_t least, size_t max>
Accepted marked_within(std::string_view text, PiiSpan span) {
  const size_t mark = span.begin;
  while (span.begin > 0 && mark - span.begin <= max && is_member(text[span.begin - 1])) span.begin--;
  if (mark - span.begin < least || mark - span.begin > max) return {};
  return marked(text, span);
}
bool is_base64url(char c) { return is_word(c) || c == '-'; }
bool is_azure(char c) { return is_base64url(c) || c == '.' || c == '~'; }

// `span` begins at the second part of the token; this function reads the header before it.
Accepted json_web_token(std::string_view text, PiiSpan span) {
  const size_t dot = span.begin;
  while (span.begin > 0 && dot - span.begin <= kMaxMarkedSecret && is_base64url(text[span.begin - 1])) span.begin--;
  const std::string_view header = inside(text, {span.begin, dot});
  const size_t mark = header.find("eyJ");
  if (mark == header.npos || header.size() < mark + 11) return {};
  return marked(text, {span.begin + mark, span.end});
}

// Up to the end line: the next line of dashes.
Accepted private_key(std::string_view text, PiiSpan span) {
  constexpr std::string_view kDashes = "-----", kEnd = "-----END";
  const std::string_view rest = text.substr(span.end, kMaxPrivateKey);
  const size_t end = rest.find(kDashes);
  if (end == rest.npos || !rest.substr(end).starts_with(kEnd)) return {};
  const size_t last = rest.find(kDashes, end + kEnd.size());
  return PiiSpan{span.begin, span.end + (last == rest.npos ? end : last + kDashes.size())};
}

// Each expression follows its maker's documents. No expression begins with a run: secrets that do are found by a mark
// within (below).
constexpr char kSecretMarks[] =
    // Clouds and where things are deployed
    R"(\b(?:(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}|ABSK[A-Za-z0-9+/]{100,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,})"
    R"(|AIza[A-Za-z0-9_\-]{35}|ya29\.[A-Za-z0-9_\-.]{20,}|GOCSPX-[A-Za-z0-9_\-]{28}|1//0[A-Za-z0-9_\-]{40,})"
    R"(|do[opr]_v1_[0-9a-f]{64}|dckr_(?:pat|oat)_[A-Za-z0-9_\-]{24,}|HRKU-AA[A-Za-z0-9_\-]{50,}|FlyV1 fm2_[A-Za-z0-9+/=,_]{80,}|fm[12][ar]?_[A-Za-z0-9+/=,]{80,}|fo1_[A-Za-z0-9_\-]{40,})"
    R"(|nfp_[A-Za-z0-9]{36,}|vercel_blob_rw_[A-Za-z0-9_]{24,}|vc[apirk]_[A-Za-z0-9]{24,}|rnd_[A-Za-z0-9]{28,}|sbp_(?:v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_\-]{20,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.=]{32,64}|napi_[a-z0-9]{60,})"
    R"(|LTAI[A-Za-z0-9]{17,21}|AKID[A-Za-z0-9]{32}|AQVN[A-Za-z0-9_\-]{35,38}|t1\.[A-Z0-9a-z_\-]+[=]{0,2}\.[A-Za-z0-9_\-]{86}|v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|tk-us-[A-Za-z0-9_\-]{48}|sha256~[A-Za-z0-9_\-]{43}|ddp_[A-Za-z0-9]{36}|ddo_[A-Za-z0-9]{36}|scw_[A-Za-z0-9\-]{30,}|mdb_sa_sk_[A-Za-z0-9_\-]{40,})"
    // Source code, packages, builds
    R"(|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,}|gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_\-.]{20,}|GR1348941[A-Za-z0-9_\-]{20})"
    R"(|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_\-]{50,}|rubygems_[0-9A-Za-z]{24,}|oy2[a-z0-9]{43}|cio[A-Za-z0-9]{32}|CLOJARS_[0-9a-z]{60}|hex_[a-z0-9_\-]{30,}|packagist_[a-z]{3}_[0-9a-f]{60,})"
    R"(|CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}|bk(?:ua|aa|at)_[0-9a-f]{40}|AKCp[A-Za-z0-9]{60,}|cmVm[A-Za-z0-9]{56,}|sq[upa]_[0-9a-f]{40}|ATATT3[A-Za-z0-9_\-=]{100,}|ATCTT3[A-Za-z0-9_\-=]{100,}|AT[BO]A?[BA]?[BT]?[A-Za-z0-9_\-]{32}|ATBB[A-Za-z0-9]{32}|BBDC-[A-Za-z0-9+/@_\-]{40,})"
    R"(|pul-[0-9a-f]{40}|dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}|hv[sbr]\.[A-Za-z0-9_\-]{24,}|ico-[A-Za-z0-9]{32}|sgp_(?:[A-Fa-f0-9]{16}_|local_)?[0-9a-f]{40}|API-[A-Z0-9]{26}|pnu_[a-zA-Z0-9]{36}|nfc_[A-Za-z0-9]{30,}|lip_[A-Za-z0-9]{20,})"
    // Models
    R"(|sk-(?:ant-|proj-|svcacct-|admin-|or-|lf-|None-)?[A-Za-z0-9_\-]{24,}|gsk_[A-Za-z0-9]{50,}|hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{37}|pplx-[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{70,}|nvapi-[A-Za-z0-9_\-]{60,}|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|pcsk_[A-Za-z0-9_]{50,}|tvly-[A-Za-z0-9\-]{28,}|jina_[A-Za-z0-9_\-]{40,}|fw_[A-Za-z0-9]{22,}|csk-[a-z0-9]{40,}|wandb_v1_[A-Za-z0-9_\-]{40,})"
    // Chat and mail
    R"(|xox[abceoprs]-[A-Za-z0-9\-]{10,}|xoxe\.xox[bp]-[A-Za-z0-9\-]{20,}|xapp-[0-9]-[A-Za-z0-9\-]{10,}|xwfp-[A-Za-z0-9\-]{20,}|https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+]{20,})"
    R"(|https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_\-]{60,}|https://[a-z0-9\-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/\-]{60,}|https://hooks\.zapier\.com/hooks/catch/[0-9]{4,}/[A-Za-z0-9]{5,})"
    R"(|SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}|key-[0-9a-f]{32}|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|xsmtpsib-[0-9a-f]{64}-[A-Za-z0-9]{16}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}|(?:AC|SK)[0-9a-f]{32}|mlsn\.[0-9a-f]{64})"
    // Money
    R"(|(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{24,}|sq0[a-z]{3}-[A-Za-z0-9_\-]{22,}|EAAA[A-Za-z0-9_\-+=]{60}|access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f\-]{27}|access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}|rzp_(?:live|test)_[A-Za-z0-9]{14,}|FLW(?:PUB|SEC)K(?:_TEST)?-[0-9a-zA-Z]{32}-X|EZ[AT]K[A-Za-z0-9]{54,}|shippo_(?:live|test)_[0-9a-f]{40}|duffel_(?:live|test)_[A-Za-z0-9_\-=]{43}|shp(?:at|ca|pa|ss|tka)_[0-9A-Fa-f]{32}|(?:live|test)_[a-zA-Z0-9]{35}|gocardless_[A-Za-z0-9_\-]{30,})"
    // Watching
    R"(|glsa_[A-Za-z0-9]{24,}(?:_[0-9a-f]{8})?|glc_eyJ[A-Za-z0-9+/=]{30,}|NR(?:AK|JS|II|IQ|AA|RA|SP)-[A-Za-z0-9_\-]{19,40}|sntrys_eyJ[A-Za-z0-9+/=_]{60,}|sntryu_[0-9a-f]{64}|https://[0-9a-f]{32}(?::[0-9a-f]{32})?@|dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}|ph[cx]_[A-Za-z0-9]{40,}|hc[abi]k_[A-Za-z0-9]{28,}|(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|ddapp_[A-Za-z0-9]{34}|waka_[0-9a-f\-]{36}|rootly_[0-9a-f]{64})"
    // Work
    R"(|(?:dapi|lin_api_|lin_oauth_|ntn_|figd_|PMAK-|tskey-)[A-Za-z0-9_\-]{24,}|secret_[A-Za-z0-9]{43}|p8e-[A-Za-z0-9]{32}|CFPAT-[A-Za-z0-9_\-]{43}|rdme_[a-z0-9]{70}|tfp_[A-Za-z0-9_\-.]{40,}|pat-(?:na|eu|ap)[0-9]-[0-9a-f\-]{36}|sl\.[A-Za-z0-9_\-]{100,}|EAA[A-Za-z0-9]{80,}|IGQ[A-Za-z0-9_\-]{80,}|fio-u-[A-Za-z0-9_\-=]{64}|(?:sk|tk)\.eyJ[A-Za-z0-9_\-]{20,}\.[A-Za-z0-9_\-]{20,}|00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,}|pat\.[A-Za-z0-9_\-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}|zpka_[A-Za-z0-9_]{30,}|BBFF-[A-Za-z0-9]{30}|dnkey-[a-z0-9=_\-]{26}-[a-z0-9=_\-]{52}|secret-(?:live|test)-[A-Za-z0-9_\-=]{36,})"
    // Keepers of secrets
    R"(|ops_eyJ[A-Za-z0-9+/=_\-]{50,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}|AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}|AGE-PLUGIN-[A-Z0-9]{2,20}-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{20,}))";

constexpr PiiShape kSecrets[] = {
    {"private_key", R"(-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)", private_key},
    {"api_key", R"(\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*)", json_web_token},
    {"api_key", kSecretMarks, marked},
    {"api_key", R"(:AA[A-Za-z0-9_\-]{33})", marked_within<is_digit, 8, 10>},                            // Telegram
    {"api_key", R"(\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,38})", marked_within<is_base64url, 23, 28>},  // Discord
    {"api_key", R"(\.atlasv1\.[A-Za-z0-9_\-=]{60,70})", marked_within<is_alnum, 14, 14>},               // Terraform
    {"api_key", R"(-us[0-9]{1,2})", marked_within<is_hex, 32, 32>},                                     // Mailchimp
    {"api_key", R"([0-9]Q~[A-Za-z0-9_~.\-]{31,34})", marked_within<is_azure, 3, 3>},                    // Azure AD
    {"api_key", R"(_mmk)", marked_within<is_word, 36, 36>},                                             // MaxMind
    {"api_key", R"(AZDO[A-Za-z0-9]{4})", marked_within<is_alnum, 76, 76>},                              // Azure DevOps
    {"api_key", R"(\.[0-9a-f]{64})", marked_within<is_alnum, 17, 17>},                                  // Airtable
};

}  // namespace

std::span<const PiiShape> secret_shapes() { return kSecrets; }

}  // namespace policies
