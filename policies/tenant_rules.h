// TenantRules: the tenant and the policy of each connecting peer, and of each client with a token.
// Source: tenants.json of a policy folder. Without the file there is one rule: each user is a separate tenant under the
// mode's policy. The first rule that fits decides. A rule that names tokens or subjects of JWTs fits no peer, and all
// other rules, with "default", fit neither: a token gets a tenant only where an administrator has said so.
// Errors: all problems of the file, naming rule, key and value.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// Peer: the client's process, from SO_PEERCRED and SO_PEERGROUPS: as the kernel reports it, not the client.
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary groups
  // The system unit of the peer's process (systemd.unit(5)). Empty text: the process has no unit. nullopt: the unit
  // cannot be found out; then a rule with a unit, and all rules behind it, do not apply.
  std::optional<std::string> unit = {};
};

// TokenBearer: a client that has shown the token of this name.
struct TokenBearer {
  std::string token;
};
// SubjectBearer: a client with a JWT of this subject. `claim`: the value of the configuration's jwt.tenant_claim, 1 to
// 32 of a-z, 0-9, '_' and '-'; empty: the token has none.
struct SubjectBearer {
  std::string subject, claim;
};
// NodeOrder: a client of another node of the cluster. That node's rules have given it the tenant and the policy, and
// warder-node has checked the node's right to act for the tenant.
struct NodeOrder {
  std::string tenant, policy, policy_hash;
};
using CallerCredentials = std::variant<Peer, TokenBearer, SubjectBearer, NodeOrder>;

// TokenRule: the own rule of one token, from the token's entry in the configuration. It decides where no rule of
// tenants.json fits the token.
struct TokenRule {
  std::string token;           // the name
  std::string tenant, policy;  // one of them may be empty: "token-{token}", and the policy that the mode gives
  bool exists() const { return !tenant.empty() || !policy.empty(); }
};

struct TenantRule {
  std::optional<uid_t> uid;  // without uid and gid, the rule fits every user
  std::optional<gid_t> gid;  // the primary or a supplementary group
  std::string unit;          // '*' stands for any characters; empty: any unit or no unit
  std::string token;         // fits tokens of this name, and no peer; '*' stands for any characters; empty: fits peers
  std::string subject;       // fits JWTs of this subject, and nothing else; '*' as above
  std::string tenant;  // "{uid}" stands for the peer's uid, "{token}" for the token's name, "{claim}" for the claim
  std::string policy;
  bool fits_no_tenant = false;  // its user or group does not exist on this machine
};

class TenantRules {
 public:
  // User and group names are looked up here, once: getpwnam(3), getgrnam(3). A rule with a name that does not exist
  // fits no peer, and gives a warning: one policy for many machines may name users that only some of them have. A
  // look-up that fails for another reason is an error: the user may exist.
  static tl::expected<TenantRules, std::vector<Error>> parse(const Json& document);
  static TenantRules all_users(std::string policy);

  struct Match {
    std::string tenant;
    std::string policy;
  };
  // Empty when no rule fits.
  std::optional<Match> find(const Peer& peer) const;
  std::optional<Match> find(const TokenBearer& bearer) const;
  // Also empty where the rule's tenant needs a claim that the JWT does not have.
  std::optional<Match> find(const SubjectBearer& bearer) const;
  bool ask_for_units() const;
  const std::vector<TenantRule>& rules() const { return rules_; }
  // "rules[1].group: this machine has no group "lab"; the rule is skipped".
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::vector<TenantRule> rules_;
  std::vector<std::string> warnings_;
};

}  // namespace policies
