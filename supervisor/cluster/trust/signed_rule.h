// Signed rules: rules for all nodes of a cluster, signed by an authority, a key of the administrator: the list of nodes
// (kind "trust", trust_record.h), the policies of tenants ("policy"), definitions of tools ("catalog") and skills
// ("skill"). Nodes get them over the bus or as files. A bus under an attacker's control cannot change a rule, make one,
// or bring an old one back: the serial only grows. Form: signed_text.h, with the header
//   {"v":1,"kind":"policy","cluster":"c1","name":"strict","serial":7,"by":"ed25519:...","bytes":12,"sha256":"..."}
// Source: `warder cluster`. Used by: trust_record.h, rule_store.h. Errors: invalid: the form; denied: the signature.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/cluster/trust/node_key.h"

namespace cluster {

constexpr size_t kMaxRuleContent = 256 << 10;          // bytes
constexpr int64_t kMaxSerial = 9'007'199'254'740'991;  // 2^53 - 1: whole in every reader of JSON

struct SignedRule {
  std::string kind;     // "trust", or one of kRuleKinds (rule_store.h)
  std::string cluster;  // the cluster's name
  std::string name;  // of the policy, the file of definitions or the skill; of a trust record: the cluster's name again
  int64_t serial = 0;  // from 1; each new rule of this kind and name has a larger one
  PublicKey by;        // the authority
  std::string content;
};

// Reads the form, and checks that the key `by` has signed it. Whether this key is an authority is the caller's
// question. Errors name the member.
Result<SignedRule> read_signed_rule(std::string_view text);
// The rule as text, with `by` set to the public key of `authority`.
Result<std::string> sign_rule(SignedRule rule, const PrivateKey& authority);

}  // namespace cluster
