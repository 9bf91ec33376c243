#include "supervisor/tenants/tenant.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>

#include "policies/names.h"
#include "policies/policy.h"
#include "policies/store.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/tenants/named_workspaces.h"
#include "supervisor/tenants/new_file.h"
#include "supervisor/tenants/project.h"

namespace tenants {
namespace {

QuotaLimits workspace_limits(const policies::QuotaRules& quota) {
  return {quota.workspace_bytes, quota.workspace_files};
}
KeepLimits keep_limits(const policies::QuotaRules& quota) {
  return {quota.executions_kept, quota.executions_kept_bytes};
}

// The credentials that rules of tenants.json judge. Errors: denied, the principal has none.
Result<policies::CallerCredentials> credentials_of(const mcp::Principal& principal, std::optional<std::string> unit) {
  if (principal.kind() == mcp::Principal::Kind::token) return policies::TokenBearer{principal.token()};
  if (principal.kind() == mcp::Principal::Kind::subject)
    return policies::SubjectBearer{principal.subject(), principal.claim()};
  if (principal.kind() == mcp::Principal::Kind::node) {
    const auto& [account, policy, policy_hash] = principal.node_tenant();
    return policies::NodeOrder{account, policy, policy_hash};
  }
  const auto& peer = principal.peer();
  if (!peer) return fail(Code::denied, "no rule of tenants.json fits " + principal.name());
  return policies::Peer{peer->uid, peer->gid, peer->groups, std::move(unit)};
}

constexpr mode_t kPrivate = 0700;
constexpr uint64_t kMaxSavedBytes = uint64_t{1} << 62;  // no quota
constexpr std::chrono::seconds kMaxCheckInterval{60};   // a tenant with shorter times may connect meanwhile

}  // namespace

Result<std::shared_ptr<Tenant>> Tenant::open(Loop& loop, int tenants, std::string name,
                                             const policies::Policy& policy) {
  if (!policies::valid_name(name))
    return fail(Code::invalid, "'" + valid_utf8(name).substr(0, 64) + "' is not a tenant name",
                "use 1 to 64 characters of a-z, 0-9, '-', '_', '.', not beginning with '.'");
  TRY(RelativePath path, RelativePath::parse(name));
  TRY(Fd directory, make_directories_beneath(tenants, path, kPrivate));
  return open_in(loop, std::move(directory), TenantId{std::move(name)}, policy);
}

Result<std::shared_ptr<Tenant>> Tenant::open_workspace(Loop& loop, const Tenant& of, std::string_view workspace,
                                                       const policies::Policy& policy) {
  TRY(RelativePath path, RelativePath::parse(std::string(kNamedWorkspaces) + "/" + std::string(workspace)));
  TRY(Fd directory, make_directories_beneath(of.directory(), path, kPrivate));
  return open_in(loop, std::move(directory), TenantId{of.account(), std::string(workspace)}, policy);
}

Result<std::shared_ptr<Tenant>> Tenant::open_in(Loop& loop, Fd directory, TenantId id, const policies::Policy& policy) {
  auto folder = [&](std::string_view below) -> Result<Fd> {
    TRY(RelativePath path, RelativePath::parse(below));
    return make_directories_beneath(directory.get(), path, kPrivate);
  };
  TRY(Fd files, folder("workspace"));
  TRY(Fd unfinished, folder("unfinished"));
  CHECKED(sweep_unfinished(unfinished.get()));
  TRY(const Fd staging, folder("staging"));
  TRY(const auto project, join_project(files.get(), unfinished.get(), staging.get()));
  Workspace workspace(loop, std::move(files), std::move(unfinished), workspace_limits(policy.quota));
  TRY(Fd saved, folder("executions"));
  TRY(Fd sessions, folder("sessions"));
  TRY(Executions executions, Executions::open(std::move(saved), keep_limits(policy.quota)));
  std::shared_ptr<Tenant> tenant(new Tenant(std::move(id), std::move(directory), std::move(workspace),
                                            std::move(executions), std::move(sessions)));
  tenant->project_ = project;
  return tenant;
}

void Tenant::set_quota(const policies::QuotaRules& quota) {
  workspace_.set_limits(workspace_limits(quota));
  executions_.set_limits(keep_limits(quota));
}

Result<Registry> Registry::open(Loop& loop, int state, const policies::Store& store, IndexHost* indexes) {
  TRY(RelativePath path, RelativePath::parse("tenants"));
  auto directory = make_directories_beneath(state, path, kPrivate);
  if (!directory) return tl::unexpected<Error>(std::move(directory).error().within("state folder"));
  return Registry(loop, std::move(*directory), store, indexes);
}

Registry::Tenants::iterator Registry::keep(const TenantId& id, std::shared_ptr<Tenant> opened) {
  if (indexes_ != nullptr) opened->workspace().follow(*indexes_);
  return tenants_.emplace(id, std::move(opened)).first;
}

Result<std::shared_ptr<Member>> Registry::admit(mcp::Principal principal, std::optional<std::string> unit) {
  TRY(policies::CallerCredentials credentials, credentials_of(principal, std::move(unit)));
  TRY(policies::Assignment assignment, store_.tenant_of(credentials));
  if (is_removing(assignment.tenant))
    return fail(Code::unavailable, "tenant '" + assignment.tenant + "' is being removed",
                "connect again in some seconds");
  const TenantId id{assignment.tenant};
  auto it = tenants_.find(id);
  if (it == tenants_.end()) {
    auto opened = Tenant::open(loop_, directory_.get(), assignment.tenant, *assignment.policy);
    if (!opened) return tl::unexpected<Error>(std::move(opened).error().within("tenant '" + assignment.tenant + "'"));
    it = keep(id, *std::move(opened));
  }
  set_quota(it->second, assignment.policy->quota);
  std::erase_if(members_, [](const std::weak_ptr<Member>& member) { return member.expired(); });
  auto connected = std::count_if(members_.begin(), members_.end(), [&](const std::weak_ptr<Member>& other) {
    auto member = other.lock();
    return member && member->tenant == it->second;
  });
  if (static_cast<uint64_t>(connected) >= assignment.policy->connections)
    return fail(
        Code::exhausted,
        "tenant '" + assignment.tenant + "' has " + std::to_string(connected) + " connections, which is the maximum",
        "close a connection, or ask the administrator to raise admission.connections", "admission.connections");
  auto member = std::make_shared<Member>();
  member->principal = std::move(principal);
  member->credentials = std::move(credentials);
  member->tenant = it->second;
  member->policy = std::move(assignment.policy);
  members_.push_back(member);
  return member;
}

Result<std::shared_ptr<Tenant>> Registry::workspace(const Member& member, std::string_view name) {
  if (name.empty() || name == "default") return member.tenant;
  const std::string text = valid_utf8(name.substr(0, 64));
  if (!member.policy->allows_workspace(name))
    return fail(Code::denied, "policy '" + member.policy->name + "' allows no workspace named '" + text + "'",
                "name one that fits its `workspaces`: 1 to 64 of A-Z, a-z, 0-9, '-', '_', '.', not beginning with '.'",
                "workspaces");
  const TenantId id{member.tenant->account(), std::string(name)};
  if (is_removing(id.account))
    return fail(Code::unavailable, "tenant '" + id.account + "' is being removed", "connect again in some seconds");
  auto it = tenants_.find(id);
  if (it == tenants_.end()) {
    TRY(NamedWorkspaces named, NamedWorkspaces::of(member.tenant->directory()));
    CHECKED(named.check_room(name, member.policy->named_workspaces));
    auto opened = Tenant::open_workspace(loop_, *member.tenant, name, *member.policy);
    if (!opened) return tl::unexpected<Error>(std::move(opened).error().within("workspace '" + text + "'"));
    it = keep(id, *std::move(opened));
  }
  set_quota(it->second, member.policy->quota);
  CHECKED(mark_used(*it->second, member.policy->named_workspaces));
  return it->second;
}

Result<std::shared_ptr<Tenant>> Registry::stateless_workspace(const Member& member) {
  const TenantId id{member.tenant->account(), std::string(policies::kStatelessWorkspace)};
  if (is_removing(id.account))
    return fail(Code::unavailable, "tenant '" + id.account + "' is being removed", "connect again in some seconds");
  auto it = tenants_.find(id);
  if (it == tenants_.end()) {
    TRY(auto opened, Tenant::open_workspace(loop_, *member.tenant, id.workspace, *member.policy));
    it = keep(id, std::move(opened));
  }
  set_quota(it->second, member.policy->quota);
  CHECKED(mark_used(*it->second, member.policy->named_workspaces));
  return it->second;
}

Result<std::shared_ptr<Tenant>> Registry::open_stored(const TenantId& id) {
  if (is_removing(id.account))
    return fail(Code::unavailable, "tenant '" + id.account + "' is being removed", "wait until it is removed");
  if (auto it = find(id)) return it;
  std::string folder = id.account;
  if (!id.workspace.empty()) folder += "/" + std::string(kNamedWorkspaces) + "/" + id.workspace;
  TRY(RelativePath path, RelativePath::parse(folder));
  const auto stored = open_beneath(directory_.get(), path, O_PATH | O_DIRECTORY);
  if (!stored && stored.error().err == ENOENT)
    return fail(Code::not_found, "there is no tenant '" + id.text() + "'", "warder tenants lists them");
  if (!stored) return tl::unexpected<Error>(stored.error());
  policies::Policy keeping = *store_.standard();
  keeping.quota = {kMaxSavedBytes, kMaxSavedBytes, std::numeric_limits<uint32_t>::max(), kMaxSavedBytes};
  if (id.workspace.empty()) {
    TRY(auto opened, Tenant::open(loop_, directory_.get(), id.account, keeping));
    return keep(id, std::move(opened))->second;
  }
  TRY(const auto account, open_stored(TenantId{id.account}));
  TRY(auto opened, Tenant::open_workspace(loop_, *account, id.workspace, keeping));
  return keep(id, std::move(opened))->second;
}

Result<std::shared_ptr<Tenant>> Registry::workspace_in(const Member& member, const Json& meta) {
  const auto named = meta.is_object() ? meta.find(kWorkspaceKey) : meta.end();
  if (named == meta.end()) return member.tenant;
  if (!named->is_string()) return fail(Code::invalid, std::string("_meta: ") + kWorkspaceKey + " is not a string");
  return workspace(member, named->get_ref<const std::string&>());
}

void Registry::set_quota(const std::shared_ptr<Tenant>& tenant, const policies::QuotaRules& quota) {
  tenant->set_quota(quota);
  if (quota_changed_) quota_changed_(tenant);
}

std::vector<std::shared_ptr<Member>> Registry::apply_policies() {
  std::vector<std::shared_ptr<Member>> other_offers;
  stateless_policies_.clear();
  for (const std::weak_ptr<Member>& weak : members_) {
    auto member = weak.lock();
    if (!member) continue;
    auto assignment = store_.tenant_of(member->credentials);
    if (!assignment || assignment->tenant != member->tenant->name()) {
      member->revoked = true;
      continue;
    }
    member->revoked = false;
    if (!policies::are_offered_alike(*member->policy, *assignment->policy)) other_offers.push_back(member);
    member->policy = std::move(assignment->policy);
    set_quota(member->tenant, member->policy->quota);
  }
  return other_offers;
}

Result<std::vector<std::string>> Registry::all_tenants() const {
  TRY(auto names, read_names(FolderReader::at(directory_.get(), "tenants")));
  std::erase_if(names, [](const std::string& name) { return !policies::valid_name(name); });
  return names;
}

Task<std::chrono::seconds> Registry::expire_workspaces() {
  std::chrono::seconds next = kMaxCheckInterval;
  if (is_removal_by_age_paused()) co_return next;
  auto tenants = all_tenants();
  if (!tenants) {
    log_warning("expiry of workspaces: {}", tenants.error().what);
    co_return next;
  }
  for (const std::string& tenant : *tenants) {
    if (is_removing(tenant)) continue;
    std::optional<policies::WorkspaceRules> rules;
    for (const std::weak_ptr<Member>& weak : members_) {
      auto member = weak.lock();
      if (member && member->tenant->name() == tenant) rules = member->policy->named_workspaces;
    }
    auto saved = co_await expire_workspaces_of(tenant, rules);
    if (!saved) log_warning("tenant {}: expiry of workspaces: {}", tenant, saved.error().what);
    if (saved && *saved) next = std::clamp(**saved / 10, std::chrono::seconds(1), next);
    co_await next_turn(loop_);
  }
  co_return next;
}

Task<Result<std::optional<std::chrono::seconds>>> Registry::expire_workspaces_of(
    std::string tenant, std::optional<policies::WorkspaceRules> rules) {
  CO_TRY(RelativePath path, RelativePath::parse(tenant));
  CO_TRY(Fd folder, open_beneath(directory_.get(), path, O_PATH | O_DIRECTORY));
  CO_TRY(NamedWorkspaces named, NamedWorkspaces::of(folder.get()));
  CO_TRY(std::vector<NamedWorkspace> announced, named.announce(rules));
  for (const NamedWorkspace& workspace : announced)
    log_notice("workspace {}/{} is not used: it will be removed in {} s, unless a client uses it", tenant,
               workspace.name, workspace.rules.warning.count());
  CO_TRY(std::vector<NamedWorkspace> all, named.list(rules));
  std::optional<std::chrono::seconds> shortest;
  for (const NamedWorkspace& workspace : all) {
    if (workspace.rules.idle.count() == 0) continue;
    shortest = std::min(shortest.value_or(workspace.rules.idle), workspace.rules.idle);
    if (!workspace.removal || workspace.removal->count() > 0 || workspace.idle < workspace.rules.idle) continue;
    const TenantId id{tenant, workspace.name};
    auto it = tenants_.find(id);
    if (it != tenants_.end()) {
      if (it->second.use_count() > 1) continue;  // the workspace is in use
      tenants_.erase(it);
    }
    if (removed_) removed_(id);
    CO_CHECKED(co_await named.remove(loop_, workspace.name));
    log_notice("workspace {}/{} was removed: no client used it for {} s", tenant, workspace.name,
               workspace.idle.count());
  }
  CO_CHECKED(co_await named.finish_removals(loop_));
  co_return shortest;
}

Result<> Registry::begin_removal(const std::string& account) {
  if (removing_.insert(account).second) return {};
  return fail(Code::unavailable, "the removal of tenant '" + account + "' is under way", "call again when it is done");
}

bool Registry::close_account(const std::string& account) {
  std::erase_if(tenants_,
                [&](const auto& item) { return item.first.account == account && item.second.use_count() == 1; });
  return of_account(account).empty();
}

std::shared_ptr<const policies::Policy> Registry::policy_of(const std::string& account) const {
  for (const std::weak_ptr<Member>& weak : members_)
    if (const auto member = weak.lock(); member && member->tenant->account() == account) return member->policy;
  return nullptr;
}

Result<> Registry::reopen(const TenantId& id) {
  std::erase_if(former_, [](const auto& item) { return item.use_count() == 1; });
  auto existing = tenants_.extract(id);
  if (!existing) return {};
  const std::shared_ptr<Tenant> former = std::move(existing.mapped());
  former_.push_back(former);
  if (former->is_workspace()) return {};
  TRY(const auto opened, open_stored(id));
  for (const std::weak_ptr<Member>& weak : members_) {
    const auto member = weak.lock();
    if (!member || member->tenant != former) continue;
    member->tenant = opened;
    set_quota(opened, member->policy->quota);
  }
  return {};
}

std::shared_ptr<Tenant> Registry::find(const TenantId& id) const {
  auto it = tenants_.find(id);
  return it == tenants_.end() ? nullptr : it->second;
}

std::shared_ptr<Tenant> Registry::find_text(std::string_view text) const {
  const auto id = TenantId::parse(text);
  return id ? find(*id) : nullptr;
}

std::vector<std::shared_ptr<Tenant>> Registry::of_account(const std::string& name) const {
  std::vector<std::shared_ptr<Tenant>> tenants;
  for (const auto& [id, tenant] : tenants_) {
    if (id.account == name) tenants.push_back(tenant);
  }
  return tenants;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [id, tenant] : tenants_) {
    if (id.workspace.empty()) names.push_back(id.account);
  }
  return names;
}

}  // namespace tenants
