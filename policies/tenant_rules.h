// TenantRules: which tenant a connecting process is, and under which policy.
// Source: tenants.json of a policy folder, else one rule: everybody is a tenant of their own under the mode's policy.
// The first rule that fits decides. Errors: all that is wrong with the file, naming rule, key and value.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// From SO_PEERCRED and SO_PEERGROUPS: what the kernel says, never what the client says.
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary
  // The system unit that its process is in (systemd.unit(5)); empty: none. Nothing: that cannot be told, and no rule
  // behind one that asks for it fits.
  std::optional<std::string> unit = {};
};

struct TenantRule {
  std::optional<uid_t> uid;  // neither: fits everybody
  std::optional<gid_t> gid;  // the primary or a supplementary group
  std::string unit;          // with '*' for any characters; empty: any
  std::string tenant;        // "{uid}" stands for the peer's
  std::string policy;
};

class TenantRules {
 public:
  // User and group names are looked up once, here: getpwnam(3), getgrnam(3).
  static tl::expected<TenantRules, std::vector<Error>> parse(const Json& document);
  static TenantRules everybody(std::string policy);

  struct Match {
    std::string tenant;
    std::string policy;
  };
  // Empty when no rule fits.
  std::optional<Match> find(const Peer& peer) const;
  bool ask_for_units() const;
  const std::vector<TenantRule>& rules() const { return rules_; }

 private:
  std::vector<TenantRule> rules_;
};

}  // namespace policies
