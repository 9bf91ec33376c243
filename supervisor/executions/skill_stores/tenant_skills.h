// TenantSkills: the skill store of each tenant, opened at its first use. Saving a skill compiles its code first.
// Changes of one store happen one after the other, on the thread `disk`. Source: the folder skills/ of the tenant. Used
// by: supervisor/tools/skills. Errors: denied (rules "skills.save", "skills.shared", "languages"), invalid (also: the
// code does not compile), exhausted (rules "skills.bytes", "skills.count", "skills.code"), not_found.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "jail/host.h"
#include "jail/pool/pool.h"
#include "policies/tenant_id.h"
#include "skills/library.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/executions/admission.h"
#include "supervisor/tenants/requester.h"

namespace skill_stores {

// Must outlive the server and every execution.
class TenantSkills {
 public:
  // Called after each change of the tenant's skills.
  using Changed = std::function<void(const tenants::TenantId& tenant)>;
  // `disk`: the thread that writes the skills. All three references must outlive this object. `shipped`: the skills of
  // the installation.
  TenantSkills(jail::Host& host, jail::Pool& pool, WorkerThread& disk, skills::Shared shipped, Changed changed);

  // The tenant's store. The first use opens it, on the disk's thread: reading 1,000 skills takes 0.1 s. It stays open.
  // Errors: those of the file system.
  Task<Result<std::shared_ptr<skills::SkillStore>>> store(std::shared_ptr<tenants::Tenant> tenant);
  Task<Result<skills::Library>> library(std::shared_ptr<tenants::Tenant> tenant);
  // Closes the store of a tenant whose folder was removed.
  void forget(const tenants::TenantId& tenant) { stores_.erase(tenant); }
  // The skills of the cluster, in place of the former ones. Returns the names of those that are not used, because
  // shipped skills have their names.
  std::vector<std::string> set_cluster_skills(const skills::Shared& skills);

  // Compiles the code in a jail of the tenant, then saves the skill; it is durable when the task is done. A call that
  // is cancelled before the disk's thread has the change saves no skill. After a later cancellation the skill is saved.
  // Here and in remove(), `user` must outlive the task.
  Task<Result<skills::SkillStore::Receipt>> save(const tenants::Requester& user, skills::Draft draft);
  // Removes the skill, durably. A removal that the disk's thread has continues to its end after a cancelled call.
  Task<Result<>> remove(const tenants::Requester& user, std::string name);

 private:
  // One change of a store, from its plan to its end. A cancelled caller does not stop a change that has begun.
  struct Change {
    Change(tenants::TenantId of, std::shared_ptr<skills::SkillStore> its_store, executions::Admission::Permit its_turn)
        : tenant(std::move(of)), store(std::move(its_store)), turn(std::move(its_turn)) {}
    tenants::TenantId tenant;
    std::shared_ptr<skills::SkillStore> store;
    executions::Admission::Permit turn;
    Event done;
    Result<skills::SkillStore::Receipt> receipt = fail(Code::internal, "not done");  // after a removal: without entry
  };
  Task<Result<std::shared_ptr<Change>>> begin_change(const tenants::Requester& user);
  Task<> save(std::shared_ptr<Change> change, std::shared_ptr<skills::SkillStore::Saving> saving);
  Task<> remove(std::shared_ptr<Change> change, std::shared_ptr<skills::SkillStore::Removal> removal);
  jail::Host& host_;
  jail::Pool& pool_;
  const skills::Shared shipped_;
  std::shared_ptr<const skills::Shared> shared_;  // the shipped ones and those of the cluster
  Changed changed_;
  WorkerThread& disk_;
  executions::Admission checks_, changes_;
  std::map<tenants::TenantId, std::shared_ptr<skills::SkillStore>> stores_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace skill_stores
