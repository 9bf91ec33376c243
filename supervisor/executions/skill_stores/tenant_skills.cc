#include "supervisor/executions/skill_stores/tenant_skills.h"

#include <fmt/format.h>

#include "policies/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/executions/skill_stores/compile_check.h"
#include "supervisor/tenants/tenant.h"

namespace skill_stores {
namespace {

constexpr uint32_t kMaxChecks = 4;     // compile checks at once, for all tenants; at most one for each tenant
constexpr uint32_t kMaxChanges = 256;  // changes at once on the disk's thread, for all tenants; at most one for each

// The limits for an Admission in which each tenant runs one job at a time.
policies::Policy one_at_a_time(const policies::Policy& policy) {
  policies::Policy item;
  item.concurrent_executions = 1;
  item.requests_in_flight = 1;
  item.queued_executions = policy.queued_executions;
  return item;
}

}  // namespace

TenantSkills::TenantSkills(jail::Host& host, jail::Pool& pool, WorkerThread& disk, skills::Shared shipped,
                           Changed changed)
    : host_(host),
      pool_(pool),
      shipped_(std::move(shipped)),
      shared_(std::make_shared<const skills::Shared>(shipped_)),
      changed_(std::move(changed)),
      disk_(disk),
      checks_(host.loop, kMaxChecks),
      changes_(host.loop, kMaxChanges),
      tasks_(host.loop) {}

Task<Result<std::shared_ptr<skills::SkillStore>>> TenantSkills::store(std::shared_ptr<tenants::Tenant> tenant) {
  using StorePtr = std::shared_ptr<skills::SkillStore>;
  const auto it = stores_.find(tenant->id());
  if (it != stores_.end()) co_return it->second;
  auto read = std::make_shared<StorePtr>();
  const WorkerThread::Job job = [tenant, read]() -> Result<> {
    TRY(RelativePath path, RelativePath::parse("skills"));
    TRY(Fd directory, make_directories_beneath(tenant->directory(), path, 0700));
    TRY(skills::SkillStore opened, skills::SkillStore::open(std::move(directory)));
    *read = std::make_shared<skills::SkillStore>(std::move(opened));
    return {};
  };
  CO_CHECKED(co_await disk_.run(job));
  const auto [opened, is_first] = stores_.try_emplace(tenant->id(), std::move(*read));  // another call may be first
  if (is_first)
    for (const std::string& problem : opened->second->problems()) log_warning("tenant {}: {}", tenant->name(), problem);
  co_return opened->second;
}

Task<Result<skills::Library>> TenantSkills::library(std::shared_ptr<tenants::Tenant> tenant) {
  CO_TRY(std::shared_ptr<const skills::SkillStore> own, co_await store(std::move(tenant)));
  co_return skills::Library(shared_, std::move(own));
}

std::vector<std::string> TenantSkills::set_cluster_skills(const skills::Shared& skills) {
  auto all = std::make_shared<skills::Shared>(shipped_);
  std::vector<std::string> hidden = all->add(skills);
  shared_ = std::move(all);
  return hidden;
}

Task<Result<skills::SkillStore::Receipt>> TenantSkills::save(const tenants::Requester& user, skills::Draft draft) {
  const policies::SkillRules& rules = user.policy->skills;
  if (!rules.save)
    co_return fail(Code::denied, fmt::format("policy '{}' does not allow saving skills", user.policy->name),
                   "keep the code in a file of the workspace", "skills.save");
  CO_CHECKED(skills::check_draft(draft));
  CO_TRY(const std::shared_ptr<skills::SkillStore> own, co_await store(user.tenant));
  if (!own->find(draft.name) && shared_->find(draft.name))
    co_return fail(Code::denied, fmt::format("'{}' is a shared skill of all tenants", draft.name),
                   "choose another name", "skills.shared");
  {
    const policies::Policy one_check = one_at_a_time(*user.policy);
    executions::Admission::Asker asker{user.tenant->name(), nullptr};
    CO_TRY(executions::Admission::Permit permit, co_await checks_.enter(std::move(asker), one_check));
    CO_CHECKED(co_await check_skill(host_, pool_, user, draft));
  }
  skills::StoreLimits limits;
  limits.bytes = rules.bytes;
  limits.count = rules.count;
  CO_TRY(std::shared_ptr<Change> change, co_await begin_change(user));
  CO_TRY(skills::SkillStore::Saving plan, change->store->plan_save(draft, limits));
  if (plan.saved == skills::SkillStore::Saved::same) co_return change->store->finish(std::move(plan));
  tasks_.spawn(save(change, std::make_shared<skills::SkillStore::Saving>(std::move(plan))));
  co_await change->done;
  co_return change->receipt;
}

Task<Result<>> TenantSkills::remove(const tenants::Requester& user, std::string name) {
  if (!user.policy->skills.save)
    co_return fail(Code::denied, fmt::format("policy '{}' does not allow deleting skills", user.policy->name), {},
                   "skills.save");
  CO_TRY(std::shared_ptr<Change> change, co_await begin_change(user));
  if (!change->store->find(name) && shared_->find(name))
    co_return fail(Code::denied, fmt::format("'{}' is a shared skill of all tenants", name),
                   "only the administrator can remove a shared skill", "skills.shared");
  CO_TRY(skills::SkillStore::Removal plan, change->store->plan_removal(name));
  tasks_.spawn(remove(change, std::make_shared<skills::SkillStore::Removal>(std::move(plan))));
  co_await change->done;
  if (!change->receipt) co_return tl::unexpected<Error>(change->receipt.error());
  co_return Result<>{};
}

Task<Result<std::shared_ptr<TenantSkills::Change>>> TenantSkills::begin_change(const tenants::Requester& user) {
  const policies::Policy one_change = one_at_a_time(*user.policy);
  executions::Admission::Asker asker{user.tenant->name(), nullptr};
  CO_TRY(executions::Admission::Permit turn, co_await changes_.enter(std::move(asker), one_change));
  CO_TRY(std::shared_ptr<skills::SkillStore> own, co_await store(user.tenant));
  co_return std::make_shared<Change>(user.tenant->id(), std::move(own), std::move(turn));
}

Task<> TenantSkills::save(std::shared_ptr<Change> change, std::shared_ptr<skills::SkillStore::Saving> saving) {
  const WorkerThread::Job job = [saving] { return skills::SkillStore::write(*saving); };
  auto written = co_await disk_.run(job);
  if (written) {
    change->receipt = change->store->finish(std::move(*saving));
    changed_(change->tenant);
  } else {
    change->receipt = tl::unexpected<Error>(std::move(written).error());
  }
  change->done.fire();
}

Task<> TenantSkills::remove(std::shared_ptr<Change> change, std::shared_ptr<skills::SkillStore::Removal> removal) {
  const WorkerThread::Job job = [removal] { return skills::SkillStore::remove(*removal); };
  auto removed = co_await disk_.run(job);
  change->store->finish(*removal);
  if (removal->is_gone) changed_(change->tenant);
  if (removed) {
    change->receipt = skills::SkillStore::Receipt{nullptr, skills::SkillStore::Saved::same};
  } else {
    change->receipt = tl::unexpected<Error>(std::move(removed).error());
  }
  change->done.fire();
}

}  // namespace skill_stores
