// RuleStore: the signed rules that a node follows, in memory and on its disk. A node starts from its last good copy,
// without the bus.
//
// Two places: the anchor, a trust record that root wrote (`warder cluster`), and a folder that only this process
// writes: trust.record and policy-NAME.rule. A rule is on the disk before it is in force. A stored trust record that
// cannot be read ends the start: without it, nodes that were removed would be trusted again.
//
// Source: warder-node, for rules from the bus. Errors: denied: unknown authority, old serial, another cluster; invalid;
// exhausted: too many rules; those of private_file.h. All functions wait for the disk: on a worker thread.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

constexpr size_t kMaxStoredPolicies = 1000;

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
  // nullptr: there is no rule for this policy. A rule without content withdraws the policy.
  const SignedRule* policy(const std::string& name) const;
  const std::map<std::string, SignedRule>& policies() const { return policies_; }

 private:
  explicit RuleStore(std::string folder) : folder_(std::move(folder)) {}
  Result<> load_trust(const std::string& anchor);
  Result<> load_policies();
  bool was_authority(const PublicKey& key) const;
  Result<Accepted> accept_trust(std::string_view text);
  Result<Accepted> accept_policy(SignedRule rule, std::string_view text);

  std::string folder_;
  TrustRecord trust_;
  std::string trust_text_;
  std::map<std::string, SignedRule> policies_;
};

}  // namespace cluster
