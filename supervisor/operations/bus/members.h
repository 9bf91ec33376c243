// Members: the clients that are connected now, by tenant. Source: the daemon adds each connection. Used by: the objects
// of tenants (tenant_object.cc, bus_objects.cc).
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/tenants/tenant.h"

namespace bus {

class Members {
 public:
  void add(const std::shared_ptr<tenants::Member>& member) {
    auto& all = of_tenant_[member->tenant->name()];
    std::erase_if(all, [](const std::weak_ptr<tenants::Member>& one) { return one.expired(); });
    all.push_back(member);
  }

  // The number of connected clients, and the policy of the last one; nullptr: no client is connected.
  struct Connected {
    uint32_t count = 0;
    std::shared_ptr<const policies::Policy> policy;
  };
  Connected of(const std::string& tenant) const {
    Connected found;
    auto all = of_tenant_.find(tenant);
    if (all == of_tenant_.end()) return found;
    for (const auto& weak : all->second) {
      const auto member = weak.lock();
      if (!member || member->revoked) continue;
      found.count++;
      found.policy = member->policy;
    }
    return found;
  }

  // How many connected tenants are users of this machine ("uid-N") and have this policy: on another machine the same
  // name is another user.
  uint64_t user_accounts_with(const std::string& policy) const {
    uint64_t count = 0;
    for (const auto& [tenant, members] : of_tenant_) {
      const bool has_policy = std::any_of(members.begin(), members.end(), [&policy](const auto& weak) {
        const auto member = weak.lock();
        return member && !member->revoked && member->policy->name == policy;
      });
      count += tenant.starts_with("uid-") && has_policy;
    }
    return count;
  }

  // The policies of all connected clients, each once.
  std::set<std::shared_ptr<const policies::Policy>> policies() const {
    std::set<std::shared_ptr<const policies::Policy>> found;
    for (const auto& [tenant, members] : of_tenant_) {
      for (const auto& weak : members)
        if (const auto member = weak.lock(); member && !member->revoked) found.insert(member->policy);
    }
    return found;
  }

 private:
  std::map<std::string, std::vector<std::weak_ptr<tenants::Member>>> of_tenant_;
};

}  // namespace bus
