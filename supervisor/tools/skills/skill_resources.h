// Skill resources: skills in the protocol. The skills extension (SEP-2640) has skills/list, skills/get and
// resources/directory/read. The files are resources skill://<slug>/<path>, and each skill is a prompt. Completion knows
// the slugs and the files. Source: skill_stores::TenantSkills. Used by: supervisor/daemon/. Errors: invalid,
// not_found.
#pragma once
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {

constexpr char kSkillTemplate[] = "skill://{skill}/{+path}";

// Adds the extension, the resources, the completion and the prompts. `skills` and `work` must outlive the server.
void add_skill_resources(mcp::Server& server, skill_stores::TenantSkills& skills, Work& work,
                         const tenants::RequesterOf& requester_of);
// The files of all skills are compared in a job of `work`.
mcp::CompletionHandler skill_completion(skill_stores::TenantSkills& skills, Work& work,
                                        const tenants::RequesterOf& requester_of);

}  // namespace tools
