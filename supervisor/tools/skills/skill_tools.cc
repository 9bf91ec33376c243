#include "supervisor/tools/skills/skill_tools.h"

#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

// An import in jailed code, or load_skill() there.
Task<Result<jail::CallReply>> load_for_code(skill_stores::TenantSkills& skills, executions::RecentCode& recent,
                                            calls::GuestCaller& caller, Json arguments) {
  CO_TRY(Json loaded, co_await load_skill(skills, caller, std::move(arguments)));
  const bool is_shared = loaded["metadata"].contains("shared");
  recent.use_skill(caller.tenant->name(), caller.execution, loaded["name"].get<std::string>(), is_shared,
                   journal::now_ms());
  co_return jail::CallReply(std::move(loaded));
}

}  // namespace

Json metadata_of(const skills::SkillMatch& match) {
  const skills::Skill& skill = *match.skill;
  const skills::SkillFile* code = skill.find_file(skill.code_file);
  Json metadata = {{"name", skill.name},
                   {"description", skill.description},
                   {"created", skill.created},
                   {"code_hash", code ? code->digest.substr(code->digest.find(':') + 1) : ""},
                   {"language", skills::language_name(skill.language)}};
  if (match.own) metadata["version"] = match.own->version();
  if (!match.own) metadata["shared"] = true;
  return metadata;
}

void add_skill_tools(const OperationRegistry& registry, skill_stores::TenantSkills& skills,
                     executions::RecentCode& recent, Work& work) {
  using Answer = SkillAnswer(skill_stores::TenantSkills&, const tenants::Requester&, Json);
  auto operation = [&](mcp::ToolDefinition definition, Answer* answer) {
    return shared_operation(std::move(definition),
                            [&skills, answer](const tenants::Requester& requester, Json arguments) {
                              return answer(skills, requester, std::move(arguments));
                            });
  };
  auto add = [&](mcp::ToolDefinition definition, Answer* answer) {
    registry.add(operation(std::move(definition), answer));
  };
  add(save_skill_definition(), save_skill);
  Operation load = operation(load_skill_definition(), load_skill);
  load.code = [&skills, &recent](calls::GuestCaller& caller, Json arguments) {
    return load_for_code(skills, recent, caller, std::move(arguments));
  };
  registry.add(std::move(load));
  registry.add(shared_operation(list_skills_definition(), [&](const tenants::Requester& requester, Json arguments) {
    return list_skills(skills, work, requester, std::move(arguments));
  }));
  add(delete_skill_definition(), delete_skill);
}

}  // namespace tools
