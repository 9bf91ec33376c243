// Members: the clients that are connected now, by tenant. Source: the daemon adds each connection. Used by: the objects
// of tenants (tenant_object.cc, bus_objects.cc).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "policies/policy_fwd.h"

namespace tenants {
struct Member;
}

namespace bus {

class Members {
 public:
  void add(const std::shared_ptr<tenants::Member>& member);

  // The number of connected clients, and the policy of the last one; nullptr: no client is connected.
  struct Connected {
    uint32_t count = 0;
    std::shared_ptr<const policies::Policy> policy;
  };
  Connected of(const std::string& tenant) const;

  // How many connected tenants are users of this machine ("uid-N") and have this policy: on another machine the same
  // name is another user.
  uint64_t user_accounts_with(const std::string& policy) const;

  // The policies of all connected clients, each once.
  std::set<std::shared_ptr<const policies::Policy>> policies() const;

 private:
  std::map<std::string, std::vector<std::weak_ptr<tenants::Member>>> of_tenant_;
};

}  // namespace bus
