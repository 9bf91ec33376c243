// TenantSkills: the skill store of each tenant, opened at its first use; saving checks the code first. Changes of one
// store happen one after the other, on the disk's thread. Used by: supervisor/tools/skills.
// Errors: denied (rules "skills.save", "skills.shared", "languages"), invalid (also: the code does not compile),
// exhausted (rules "skills.bytes", "skills.count", "skills.code"), not_found.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "jail/host.h"
#include "jail/pool.h"
#include "skills/library.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/executions/admission.h"
#include "supervisor/tenants/tenant.h"

namespace skill_stores {

// For whom something is done. Both must outlive the task.
struct SkillUser {
  tenants::Tenant& tenant;
  const policies::Policy& policy;
};

// Every tenant's skills. Must outlive the server and every execution.
class TenantSkills {
 public:
  // `changed`: told the tenant's name after each change of its skills.
  using Changed = std::function<void(const std::string& tenant)>;
  // TenantSkills are written on `disk`'s thread; all three references must outlive this.
  TenantSkills(jail::Host& host, jail::Pool& pool, WorkerThread& disk, skills::Shared shared, Changed changed);

  // Opened at the first use, and kept. Errors: what the disk said.
  Result<std::shared_ptr<skills::SkillStore>> store(tenants::Tenant& tenant);
  Result<skills::Library> library(tenants::Tenant& tenant);
  // The tenant's folder is gone.
  void forget(const std::string& tenant) { stores_.erase(tenant); }
  const skills::Shared& shared() const { return shared_; }

  // Checks the code in a jail of the tenant's own, then keeps it: durable when this is done. Cancelled before the
  // check has ended, it keeps nothing; later, the skill is kept though nobody hears of it.
  Task<Result<skills::SkillStore::Receipt>> save(SkillUser user, skills::Draft draft);
  // Cancelled when the disk has it, the skill goes though nobody hears of it.
  Task<Result<>> remove(SkillUser user, std::string name);

 private:
  // One change of a store, from its plan to its end. Nobody's leaving ends it half-way.
  struct Change {
    Change(std::string of, std::shared_ptr<skills::SkillStore> its_store, executions::Admission::Permit its_turn)
        : tenant(std::move(of)), store(std::move(its_store)), turn(std::move(its_turn)) {}
    std::string tenant;
    std::shared_ptr<skills::SkillStore> store;
    executions::Admission::Permit turn;
    Event done;
    Result<skills::SkillStore::Receipt> receipt = fail(Code::internal, "not done");  // of a removal: no entry
  };
  Task<Result<std::shared_ptr<Change>>> begin_change(SkillUser user);
  Task<> save(std::shared_ptr<Change> change, std::shared_ptr<skills::SkillStore::Saving> saving);
  Task<> remove(std::shared_ptr<Change> change, std::shared_ptr<skills::SkillStore::Removal> removal);
  jail::Host& host_;
  jail::Pool& pool_;
  skills::Shared shared_;
  Changed changed_;
  WorkerThread& disk_;
  executions::Admission checks_, changes_;
  std::map<std::string, std::shared_ptr<skills::SkillStore>, std::less<>> stores_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace skill_stores
