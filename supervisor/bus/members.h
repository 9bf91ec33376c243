// Members: who is connected now, by tenant. Told by the daemon of each connection; asked for the tenants' objects.
#pragma once
#include <map>
#include <memory>
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

  // How many there are, and the policy of the last of them; nullptr: nobody.
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

 private:
  std::map<std::string, std::vector<std::weak_ptr<tenants::Member>>> of_tenant_;
};

}  // namespace bus
