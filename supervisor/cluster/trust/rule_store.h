// RuleStore: the signed rules that a node follows, in memory and on its disk. A node starts from its last good copy,
// without the bus.
//
// Two places: the anchor, a trust record that root wrote (`warder cluster`), and a folder that only this process
// writes: trust.record and KIND-NAME.rule. A rule is on the disk before it is in force. A stored trust record that
// cannot be read ends the start: without it, nodes that were removed would be trusted again.
//
// Used by: warder-node, for rules from the bus; warderd, which trusts no other program's word about a rule. Errors:
// denied: unknown authority, old serial, another cluster; invalid; exhausted: too many rules; those of private_file.h.
// All functions wait for the disk: on a worker thread.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

constexpr size_t kMaxStoredRules = 1000;                 // besides the trust record
constexpr size_t kMaxStoredRuleBytes = 16 << 20;         // of them, as signed texts
constexpr size_t kMaxRuleText = kMaxRuleContent + 2048;  // bytes of one signed text
// "policy": the file of a policy. "catalog": a file of tool definitions. "skill": a skill, as skills/bundle.h writes
// it.
constexpr std::string_view kRuleKinds[] = {"policy", "catalog", "skill"};

struct RuleKey {
  std::string kind, name;
  auto operator<=>(const RuleKey&) const = default;
};
struct StoredRule {
  SignedRule rule;
  std::string text;  // as it was signed, to give to others
};
using StoredRules = std::map<RuleKey, StoredRule>;

class RuleStore {
 public:
  // `anchor`: path of the trust record. `folder`: exists.
  static Result<RuleStore> open(const std::string& anchor, std::string folder);

  enum class Accepted { stored, unchanged };
  // Checks a rule from anywhere; stores it if it is new. unchanged: this node has exactly this rule.
  Result<Accepted> accept(std::string_view text);

  const TrustRecord& trust() const { return trust_; }
  // The trust record as signed text, to give to others.
  const std::string& trust_text() const { return trust_text_; }
  // nullptr: there is no such rule. A rule without content withdraws what it names.
  const SignedRule* find(const RuleKey& key) const;
  const StoredRules& rules() const { return rules_; }

 private:
  explicit RuleStore(std::string folder) : folder_(std::move(folder)) {}
  Result<> load_trust(const std::string& anchor);
  Result<> load_rules();
  bool was_authority(const PublicKey& key) const;
  Result<Accepted> accept_trust(std::string_view text);
  Result<Accepted> accept_rule(SignedRule rule, std::string_view text);
  void set(SignedRule rule, std::string text);

  std::string folder_;
  TrustRecord trust_;
  std::string trust_text_;
  StoredRules rules_;
  size_t bytes_ = 0;  // of the texts of rules_
};

}  // namespace cluster
