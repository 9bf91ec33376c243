// The compile check of a skill: in a jail of its tenant's own, because a compiler is much code to show to a stranger.
// The code is compiled there and does not run.
#pragma once
#include "supervisor/skill_stores/tenant_skills.h"

namespace skill_stores {

// Errors: invalid, "it does not compile: line 3: invalid syntax"; denied, the policy does not have the language;
// unavailable, no jail could be had or it did not answer.
Task<Result<>> check_skill(jail::Host& host, jail::Pool& pool, SkillUser user, const skills::Draft& draft);

}  // namespace skill_stores
