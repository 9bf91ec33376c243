// Skills as the protocol has them: the skills extension (SEP-2640: skills/list, skills/get, resources/directory/read),
// resources skill://<slug>/<path>, and a prompt for each. Completion knows the slugs and the files.
#pragma once
#include "supervisor/tools/skill_tools.h"

namespace tools {

constexpr char kSkillTemplate[] = "skill://{skill}/{+path}";

// Everything, completion too.
void add_skill_resources(mcp::Server& server, Skills& skills, const AskerOf& asker_of);
mcp::CompletionHandler skill_completion(Skills& skills, const AskerOf& asker_of);

}  // namespace tools
