#include "supervisor/tools/skills/skill_tools.h"

namespace tools {

Json metadata_of(const skills::Found& found) {
  const skills::Skill& skill = *found.skill;
  const skills::SkillFile* code = skill.find_file(skill.code_file);
  Json metadata = {{"name", skill.name},
                   {"description", skill.description},
                   {"created", skill.created},
                   {"code_hash", code ? code->digest.substr(code->digest.find(':') + 1) : ""},
                   {"language", skills::language_name(skill.language)}};
  if (found.own) metadata["version"] = found.own->version();
  if (!found.own) metadata["shared"] = true;
  return metadata;
}

void add_skill_tools(const OperationRegistry& registry, skill_stores::TenantSkills& skills) {
  using Work = SkillAnswer(skill_stores::TenantSkills&, const tenants::Requester&, Json);
  auto add = [&](mcp::ToolDefinition definition, Work* work) {
    registry.add(
        shared_operation(std::move(definition), [&skills, work](const tenants::Requester& requester, Json arguments) {
          return work(skills, requester, std::move(arguments));
        }));
  };
  add(save_skill_definition(), save_skill);
  add(load_skill_definition(), load_skill);
  add(list_skills_definition(), list_skills);
  add(delete_skill_definition(), delete_skill);
}

}  // namespace tools
