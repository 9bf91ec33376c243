// The skill tools: four operations for agents and for jailed code, under the same names. Each has its own file, with
// its definition and its work.
// Source: the stores of supervisor/executions/skill_stores. Used by: supervisor/daemon/.
// Errors: denied (rules "skills.save", "skills.shared", "languages"), invalid (also: the code does not compile),
// exhausted (rules "skills.bytes", "skills.count", "skills.code"), not_found.
#pragma once
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/work.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/tools/operation.h"

namespace tools {

// `skills`, `recent`, which counts the skills that code loads, and `work` must outlive all calls.
void add_skill_tools(const OperationRegistry& registry, skill_stores::TenantSkills& skills,
                     executions::RecentCode& recent, Work& work);

mcp::ToolDefinition save_skill_definition();
mcp::ToolDefinition load_skill_definition();
mcp::ToolDefinition list_skills_definition();
mcp::ToolDefinition delete_skill_definition();

using SkillAnswer = Task<Result<Json>>;
SkillAnswer save_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);
SkillAnswer load_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);
// The search and the list are a job: the words of skills are the tenant's.
SkillAnswer list_skills(skill_stores::TenantSkills& skills, Work& work, const tenants::Requester& user, Json arguments);
SkillAnswer delete_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);

// {name, description, created, code_hash, language, version, shared?}
Json metadata_of(const skills::SkillMatch& match);

}  // namespace tools
