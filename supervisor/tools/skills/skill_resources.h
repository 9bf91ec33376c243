// Skills as the protocol has them: the skills extension (SEP-2640: skills/list, skills/get, resources/directory/read),
// resources skill://<slug>/<path>, and a prompt for each. Completion knows the slugs and the files.
#pragma once
#include "supervisor/tools/skills/skill_tools.h"

namespace tools {

constexpr char kSkillTemplate[] = "skill://{skill}/{+path}";

// Everything, completion too.
void add_skill_resources(mcp::Server& server, skill_stores::TenantSkills& skills, const AskerOf& asker_of);
mcp::CompletionHandler skill_completion(skill_stores::TenantSkills& skills, const AskerOf& asker_of);

}  // namespace tools
