#include "policies/tenant_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/checked.h"
#include "policies/names.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/user_lookup.h"

namespace policies {

namespace {

constexpr std::string_view kUidMark = "{uid}", kTokenMark = "{token}", kClaimMark = "{claim}";
constexpr char kTokenTenant[] = "token-{token}";
constexpr size_t kMaxClaim = 32, kMaxSubject = 128;  // supervisor/protocol/credentials/json_web_token.cc
constexpr size_t kMaxTokenName = 48;                 // supervisor/protocol/credentials/stored_token.cc
constexpr size_t kMaxTenantRules = 1000;
constexpr size_t kMaxUnit = 255;  // systemd.unit(5)

std::string with_mark(std::string name, std::string_view mark, std::string_view value) {
  if (auto at = name.find(mark); at != name.npos) name.replace(at, mark.size(), value);
  return name;
}

std::string tenant_name(std::string name, uid_t uid) {
  return with_mark(std::move(name), kUidMark, std::to_string(uid));
}

bool fits_the_same(const TenantRule& a, const TenantRule& b) {
  return !b.fits_no_tenant && a.uid == b.uid && a.gid == b.gid && a.unit == b.unit && a.token == b.token &&
         a.subject == b.subject;
}

void note_missing(Checked& in, const char* kind, const std::string& name, TenantRule& rule,
                  std::vector<std::string>& warnings) {
  rule.fits_no_tenant = true;
  warnings.push_back(fmt::format("{}: this machine has no {} \"{}\"; the rule is skipped", in.path_of(kind), kind,
                                 printable(name, 64)));
}

void read_who(Checked& in, TenantRule& rule, std::vector<std::string>& warnings) {
  constexpr const char* kKinds[] = {"uid", "user", "gid", "group", "unit", "token", "subject", "default"};
  // All kinds are read, so that the reader does not report any as an unknown key.
  const auto named = std::count_if(std::begin(kKinds), std::end(kKinds), [&](auto kind) { return in.find(kind); });
  if (named != 1)
    return in.wrong("uid", "a rule has exactly one of: uid, user, gid, group, unit, token, subject, default");
  // 4294967295 is -1, which means "unchanged" to setuid(2); no user has it.
  if (in.has("uid")) rule.uid = static_cast<uid_t>(in.integer("uid", 0, UINT32_MAX - 1));
  if (in.has("gid")) rule.gid = static_cast<gid_t>(in.integer("gid", 0, UINT32_MAX - 1));
  if (in.has("user")) {
    const std::string name = in.string("user", 256);
    const auto user = find_system_user(name);
    if (!user) return in.wrong("user", user.error().what);
    if (*user) rule.uid = (*user)->uid;
    if (!*user) note_missing(in, "user", name, rule, warnings);
  }
  if (in.has("group")) {
    const std::string name = in.string("group", 256);
    const auto group = find_system_group(name);
    if (!group) return in.wrong("group", group.error().what);
    if (*group) rule.gid = **group;
    if (!*group) note_missing(in, "group", name, rule, warnings);
  }
  if (in.has("unit")) {
    rule.unit = in.string("unit", kMaxUnit);
    if (rule.unit.find('/') != rule.unit.npos || rule.unit.find('.') == rule.unit.npos)
      in.wrong("unit",
               fmt::format("\"{}\" is not the name of a unit, such as \"agent-*.service\"", printable(rule.unit, 64)));
  }
  if (in.has("token")) {
    rule.token = in.string("token", kMaxTokenName);
    if (rule.token.empty() ||
        rule.token.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.*") != rule.token.npos)
      in.wrong("token", fmt::format("\"{}\" is not the name of a token, such as \"ci-*\"", printable(rule.token, 64)));
  }
  if (in.has("subject")) {
    rule.subject = in.string("subject", kMaxSubject);
    if (rule.subject.empty()) in.wrong("subject", "empty");
  }
  if (in.has("default") && !in.boolean_or("default", true)) in.wrong("default", "can only be true");
}

// A claim alone is no name of a tenant: an identity provider could then choose any tenant of this machine.
void check_tenant(Checked& fields, const TenantRule& rule) {
  if (!rule.subject.empty() && rule.tenant.starts_with(kClaimMark))
    fields.wrong("tenant", "begins with {claim}: write a beginning that no other tenant has, such as \"org-{claim}\"");
  const std::string longest = !rule.subject.empty() ? with_mark(rule.tenant, kClaimMark, std::string(kMaxClaim, 'a'))
                              : !rule.token.empty()
                                  ? with_mark(rule.tenant, kTokenMark, std::string(kMaxTokenName, 'a'))
                                  : tenant_name(rule.tenant, UINT32_MAX);
  if (!valid_name(longest))
    fields.wrong("tenant", fmt::format("\"{}\" is not 1 to 64 of a-z, 0-9, _, . and -, or starts with a dot",
                                       printable(rule.tenant, 80)));
}

}  // namespace

tl::expected<TenantRules, std::vector<Error>> TenantRules::parse(const Json& document) {
  TenantRules parsed;
  std::vector<Error> problems;
  Checked in(document, "", problems);
  (void)in.string_or("$schema", "", 1024);
  (void)in.string_or("description", "", 1024);
  const Json& list = in.list_or_empty("rules");
  if (list.empty() || list.size() > kMaxTenantRules)
    in.wrong("rules", fmt::format("not a list of 1 to {} rules", kMaxTenantRules));
  for (size_t i = 0; i < std::min(list.size(), kMaxTenantRules); i++) {
    Checked fields(list[i], fmt::format("rules[{}]", i), problems);
    TenantRule rule;
    read_who(fields, rule, parsed.warnings_);
    rule.tenant = !rule.subject.empty()
                      ? fields.string("tenant", 80)
                      : fields.string_or("tenant", rule.token.empty() ? "uid-{uid}" : kTokenTenant, 80);
    check_tenant(fields, rule);
    rule.policy = fields.string("policy", 64);
    fields.done();
    // A rule behind one that fits every peer can never apply.
    if (!rule.uid && !rule.gid && rule.unit.empty() && rule.token.empty() && rule.subject.empty() &&
        !rule.fits_no_tenant && i + 1 < list.size())
      fields.wrong("default", "is not the last rule");
    const auto same = std::find_if(parsed.rules_.begin(), parsed.rules_.end(),
                                   [&rule](const TenantRule& other) { return fits_the_same(rule, other); });
    if (same != parsed.rules_.end() && !rule.fits_no_tenant)
      parsed.warnings_.push_back(
          fmt::format("rules[{}] is never used: rules[{}] is for the same callers", i, same - parsed.rules_.begin()));
    parsed.rules_.push_back(std::move(rule));
  }
  in.done();
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return parsed;
}

TenantRules TenantRules::all_users(std::string policy) {
  TenantRules rules;
  rules.rules_.push_back({{}, {}, "", "", "", "uid-{uid}", std::move(policy), false});
  return rules;
}

std::optional<TenantRules::Match> TenantRules::find(const Peer& peer) const {
  auto in_group = [&](gid_t gid) {
    return peer.gid == gid || std::find(peer.groups.begin(), peer.groups.end(), gid) != peer.groups.end();
  };
  for (const auto& rule : rules_) {
    if (rule.fits_no_tenant || !rule.token.empty() || !rule.subject.empty()) continue;
    if (rule.uid && *rule.uid != peer.uid) continue;
    if (rule.gid && !in_group(*rule.gid)) continue;
    if (!rule.unit.empty()) {
      if (!peer.unit) return {};  // the unit is unknown, and this rule might apply
      if (peer.unit->empty() || !matches_pattern(rule.unit, *peer.unit)) continue;
    }
    return Match{tenant_name(rule.tenant, peer.uid), rule.policy};
  }
  return {};
}

std::optional<TenantRules::Match> TenantRules::find(const TokenBearer& bearer) const {
  for (const auto& rule : rules_) {
    if (rule.token.empty() || !matches_pattern(rule.token, bearer.token)) continue;
    return Match{with_mark(rule.tenant, kTokenMark, bearer.token), rule.policy};
  }
  return {};
}

std::optional<TenantRules::Match> TenantRules::find(const SubjectBearer& bearer) const {
  for (const auto& rule : rules_) {
    if (rule.subject.empty() || !matches_pattern(rule.subject, bearer.subject)) continue;
    if (bearer.claim.empty() && rule.tenant.find(kClaimMark) != rule.tenant.npos) return {};
    return Match{with_mark(rule.tenant, kClaimMark, bearer.claim), rule.policy};
  }
  return {};
}

bool TenantRules::ask_for_units() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const TenantRule& rule) { return !rule.unit.empty(); });
}

}  // namespace policies
