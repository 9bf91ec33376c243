#include "supervisor/tenants/tenant.h"

#include <algorithm>

#include "supervisor/base/json.h"

namespace tenants {
namespace {

QuotaLimits workspace_limits(const policies::Quota& quota) { return {quota.workspace_bytes, quota.workspace_files}; }
KeepLimits keep_limits(const policies::Quota& quota) { return {quota.executions_kept, quota.executions_kept_bytes}; }

constexpr mode_t kPrivate = 0700;

}  // namespace

Result<std::shared_ptr<Tenant>> Tenant::open(Loop& loop, int tenants, std::string name,
                                             const policies::Policy& policy) {
  if (!policies::valid_name(name))
    return fail(Code::invalid, "'" + valid_utf8(name).substr(0, 64) + "' is not a tenant's name",
                "1 to 64 of a-z, 0-9, '-', '_', '.', not beginning with '.'");
  auto folder = [&](std::string_view below) -> Result<Fd> {
    TRY(RelativePath path, RelativePath::parse(name + std::string(below)));
    return make_directories_beneath(tenants, path, kPrivate);
  };
  TRY(Fd directory, folder(""));
  TRY(Fd workspace, folder("/workspace"));
  TRY(Fd kept, folder("/executions"));
  TRY(Fd sessions, folder("/sessions"));
  TRY(Executions executions, Executions::open(std::move(kept), keep_limits(policy.quota)));
  return std::shared_ptr<Tenant>(new Tenant(loop, std::move(name), std::move(directory), std::move(workspace),
                                            workspace_limits(policy.quota), std::move(executions),
                                            std::move(sessions)));
}

void Tenant::set_quota(const policies::Quota& quota) {
  workspace_.set_limits(workspace_limits(quota));
  executions_.set_limits(keep_limits(quota));
}

Result<Registry> Registry::open(Loop& loop, int state, const policies::Store& store) {
  TRY(RelativePath path, RelativePath::parse("tenants"));
  auto directory = make_directories_beneath(state, path, kPrivate);
  if (!directory) return tl::unexpected<Error>(std::move(directory).error().within("state folder"));
  return Registry(loop, std::move(*directory), store);
}

Result<std::shared_ptr<Member>> Registry::admit(policies::Peer peer) {
  TRY(policies::Assignment assignment, store_.tenant_of(peer));
  auto known = tenants_.find(assignment.tenant);
  if (known == tenants_.end()) {
    auto opened = Tenant::open(loop_, directory_.get(), assignment.tenant, *assignment.policy);
    if (!opened) return tl::unexpected<Error>(std::move(opened).error().within("tenant '" + assignment.tenant + "'"));
    known = tenants_.emplace(assignment.tenant, std::move(*opened)).first;
  } else {
    known->second->set_quota(assignment.policy->quota);
  }
  std::erase_if(members_, [](const std::weak_ptr<Member>& member) { return member.expired(); });
  auto connected = std::count_if(members_.begin(), members_.end(), [&](const std::weak_ptr<Member>& other) {
    auto member = other.lock();
    return member && member->tenant == known->second;
  });
  if (static_cast<uint64_t>(connected) >= assignment.policy->connections)
    return fail(Code::exhausted,
                "tenant '" + assignment.tenant + "' has " + std::to_string(connected) + " connections already",
                "close some, or ask the administrator to raise admission.connections", "admission.connections");
  auto member = std::make_shared<Member>();
  member->peer = std::move(peer);
  member->tenant = known->second;
  member->policy = std::move(assignment.policy);
  members_.push_back(member);
  return member;
}

void Registry::apply_policies() {
  for (const std::weak_ptr<Member>& weak : members_) {
    auto member = weak.lock();
    if (!member) continue;
    auto assignment = store_.tenant_of(member->peer);
    if (!assignment || assignment->tenant != member->tenant->name()) {
      member->revoked = true;
      continue;
    }
    member->revoked = false;
    member->policy = std::move(assignment->policy);
    member->tenant->set_quota(member->policy->quota);
  }
}

std::shared_ptr<Tenant> Registry::find(std::string_view name) const {
  auto found = tenants_.find(name);
  return found == tenants_.end() ? nullptr : found->second;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tenant] : tenants_) names.push_back(name);
  return names;
}

}  // namespace tenants
