// The skill tools: four MCP tools, and calls of jailed code with the same names. Each tool has its own file, with a
// definition and a function that answers as JSON, for agents and for jailed code.
// Source: the stores of supervisor/skill_stores. Used by: supervisor/daemon/.
// Errors: denied (rules "skills.save", "skills.shared", "languages"), invalid (also: the code does not compile),
// exhausted (rules "skills.bytes", "skills.count", "skills.code"), not_found.
#pragma once
#include "supervisor/base/json_value.h"
#include "supervisor/calls/guest_calls.h"
#include "supervisor/mcp/server.h"
#include "supervisor/skill_stores/tenant_skills.h"
#include "supervisor/tenants/requester.h"

namespace tools {

void add_skill_tools(mcp::Server& server, skill_stores::TenantSkills& skills, const tenants::RequesterOf& requester_of);
void add_skill_calls(calls::GuestCalls& calls, skill_stores::TenantSkills& skills);

mcp::ToolDefinition save_skill_definition();
mcp::ToolDefinition load_skill_definition();
mcp::ToolDefinition list_skills_definition();
mcp::ToolDefinition delete_skill_definition();

using SkillAnswer = Task<Result<Json>>;
SkillAnswer save_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);
SkillAnswer load_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);
SkillAnswer list_skills(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);
SkillAnswer delete_skill(skill_stores::TenantSkills& skills, const tenants::Requester& user, Json arguments);

// {name, description, created, code_hash, language, version, shared?}
Json metadata_of(const skills::Found& found);

}  // namespace tools
