// Skills as the protocol has them: the skills extension (SEP-2640: skills/list, skills/get, resources/directory/read),
// resources skill://<slug>/<path>, and a prompt for each.
#pragma once
#include "supervisor/tools/skill_tools.h"

namespace tools {

void add_skill_resources(mcp::Server& server, Skills& skills, const SkillUserOf& user_of);

}  // namespace tools
