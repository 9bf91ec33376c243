// The skill tools: four MCP tools, what jailed code calls by the same names, and the stores behind both.
// One file per tool; each has a definition and a function that answers as JSON, for agents and for jailed code alike.
// Errors: denied (rules "skills.save", "skills.shared", "languages"), invalid (also: the code does not compile),
// exhausted (rules "skills.bytes", "skills.count", "skills.code"), not_found.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jail/host.h"
#include "jail/pool.h"
#include "skills/library.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/admission.h"
#include "supervisor/tools/asker.h"
#include "supervisor/tools/guest_calls.h"

namespace tools {

// For whom something is done. Both must outlive the task.
struct SkillUser {
  tenants::Tenant& tenant;
  const policies::Policy& policy;
};

// Every tenant's skills. Must outlive the server and every execution.
class Skills {
 public:
  // `changed`: told the tenant's name after each change of its skills.
  using Changed = std::function<void(const std::string& tenant)>;
  Skills(jail::Host& host, jail::Pool& pool, skills::Shared shared, Changed changed);

  // Opened at the first use, and kept. Errors: what the disk said.
  Result<skills::Store*> store(tenants::Tenant& tenant);
  Result<skills::Library> library(tenants::Tenant& tenant);
  // The tenant's folder is gone.
  void forget(const std::string& tenant) { stores_.erase(tenant); }
  const skills::Shared& shared() const { return shared_; }

  // Checks the code in a jail of the tenant's own, then keeps it. Cancelled before that, it keeps nothing.
  Task<Result<skills::Store::Receipt>> save(SkillUser user, skills::Draft draft);
  Result<> remove(SkillUser user, const std::string& name);

 private:
  jail::Host& host_;
  jail::Pool& pool_;
  skills::Shared shared_;
  Changed changed_;
  Admission checks_;
  std::map<std::string, std::unique_ptr<skills::Store>, std::less<>> stores_;
};

void add_skill_tools(mcp::Server& server, Skills& skills, const AskerOf& asker_of);
void add_skill_calls(GuestCalls& calls, Skills& skills);

mcp::ToolDefinition save_skill_definition();
mcp::ToolDefinition load_skill_definition();
mcp::ToolDefinition list_skills_definition();
mcp::ToolDefinition delete_skill_definition();

using SkillAnswer = Task<Result<nlohmann::ordered_json>>;
SkillAnswer save_skill(Skills& skills, SkillUser user, nlohmann::json arguments);
SkillAnswer load_skill(Skills& skills, SkillUser user, nlohmann::json arguments);
SkillAnswer list_skills(Skills& skills, SkillUser user, nlohmann::json arguments);
SkillAnswer delete_skill(Skills& skills, SkillUser user, nlohmann::json arguments);

// {name, description, created, code_hash, language, version, shared?}
nlohmann::ordered_json metadata_of(const skills::Found& found);

}  // namespace tools
