#include "supervisor/cluster/trust/signed_rule.h"

#include <fmt/format.h>

#include "policies/names.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/sha256.h"
#include "supervisor/cluster/trust/signed_text.h"

namespace cluster {
namespace {

constexpr size_t kMaxRuleHeader = 1024;

std::string rule_header(const SignedRule& rule) {
  return dump_json({{"v", 1},
                    {"kind", rule.kind},
                    {"cluster", rule.cluster},
                    {"name", rule.name},
                    {"serial", rule.serial},
                    {"by", rule.by.text()},
                    {"bytes", rule.content.size()},
                    {"sha256", sha256_hex(rule.content)}});
}

Result<> check_words(const SignedRule& rule) {
  if (!is_kind_word(rule.kind)) return fail(Code::invalid, "kind: not 1 to 32 of a-z, 0-9 and '_'");
  if (!is_cluster_word(rule.cluster)) return fail(Code::invalid, "cluster: not 1 to 32 of a-z, 0-9 and '-'");
  if (!policies::valid_name(rule.name))
    return fail(Code::invalid, "name: not 1 to 64 of a-z, 0-9, '_', '.' and '-', not beginning with a dot");
  if (rule.serial < 1 || rule.serial > kMaxSerial) return fail(Code::invalid, "serial: outside 1..2^53-1");
  if (rule.content.size() > kMaxRuleContent)
    return fail(Code::exhausted,
                fmt::format("the content has {} bytes, more than {}", rule.content.size(), kMaxRuleContent));
  return {};
}

}  // namespace

Result<SignedRule> read_signed_rule(std::string_view text) {
  TRY(const SignedText parts, split_signed(text, kMaxRuleHeader, kMaxRuleContent));
  TRY(const Json header, parse_canonical(parts.header));
  Fields in(header, "");
  CHECKED(in.integer("v", 1, 1));
  SignedRule rule;
  TRY(rule.kind, in.string("kind", 32));
  TRY(rule.cluster, in.string("cluster", 32));
  TRY(rule.name, in.string("name", 64));
  TRY(rule.serial, in.integer("serial", 1, kMaxSerial));
  TRY(const std::string by, in.string("by", 64));
  auto key = PublicKey::parse(by);
  if (!key) return tl::unexpected<Error>(std::move(key).error().within("by"));
  rule.by = *key;
  CHECKED(in.integer("bytes", 0, kMaxRuleContent));
  CHECKED(in.string("sha256", 64));
  CHECKED(in.done());
  rule.content = parts.body;
  CHECKED(check_words(rule));
  if (rule_header(rule) != parts.header)
    return fail(Code::invalid, "its first line is not in canonical form, or is of another content",
                "get the file again from the machine of the authority");
  if (!rule.by.verifies(kRulePurpose, parts.header, parts.signature))
    return fail(Code::denied, "its signature does not fit its content",
                "get the file again from the machine of the authority");
  return rule;
}

Result<std::string> sign_rule(SignedRule rule, const PrivateKey& authority) {
  CHECKED(check_words(rule));
  rule.by = authority.public_key();
  const std::string header = rule_header(rule);
  return join_signed(header, authority.sign(kRulePurpose, header), rule.content);
}

}  // namespace cluster
