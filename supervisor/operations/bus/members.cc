#include "supervisor/operations/bus/members.h"

#include <algorithm>

#include "policies/policy_parts.h"
#include "supervisor/tenants/tenant.h"

namespace bus {

void Members::add(const std::shared_ptr<tenants::Member>& member) {
  auto& all = of_tenant_[member->tenant->name()];
  std::erase_if(all, [](const std::weak_ptr<tenants::Member>& item) { return item.expired(); });
  all.push_back(member);
}

Members::Connected Members::of(const std::string& tenant) const {
  Connected match;
  auto all = of_tenant_.find(tenant);
  if (all == of_tenant_.end()) return match;
  for (const auto& weak : all->second) {
    const auto member = weak.lock();
    if (!member || member->revoked) continue;
    match.count++;
    match.policy = member->policy;
  }
  return match;
}

uint64_t Members::user_accounts_with(const std::string& policy) const {
  uint64_t count = 0;
  for (const auto& [tenant, members] : of_tenant_) {
    const bool has_policy = std::any_of(members.begin(), members.end(), [&policy](const auto& weak) {
      const auto member = weak.lock();
      return member && !member->revoked && policies::name_of(*member->policy) == policy;
    });
    count += tenant.starts_with("uid-") && has_policy;
  }
  return count;
}

std::set<std::shared_ptr<const policies::Policy>> Members::policies() const {
  std::set<std::shared_ptr<const policies::Policy>> match;
  for (const auto& [tenant, members] : of_tenant_) {
    for (const auto& weak : members)
      if (const auto member = weak.lock(); member && !member->revoked) match.insert(member->policy);
  }
  return match;
}

}  // namespace bus
