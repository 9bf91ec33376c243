// check_skill(): compiles the code of a skill in a jail of its tenant, and does not run it. A jail, because a compiler
// is a large program, and the code is not trusted. Used by: tenant_skills.cc.
#pragma once
#include "supervisor/executions/skill_stores/tenant_skills.h"

namespace jail {
struct Host;
class Pool;
struct Report;
}  // namespace jail

namespace skill_stores {

// The check takes at most 5 s. Errors: invalid, "the skill does not compile: line 3: invalid syntax", also if the jail
// ended without a result; denied: the policy does not allow the language; those of jail::execute().
Task<Result<>> check_skill(jail::Host& host, jail::Pool& pool, const tenants::Requester& user,
                           const skills::Draft& draft);

// The end of a check, from the report of its jail, which is not trusted. Errors: invalid, as above.
Result<> read_verdict(const jail::Report& report);

}  // namespace skill_stores
