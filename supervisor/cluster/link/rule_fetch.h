// fetch_rules(): the signed rules that warder-node has, the trust record first. They are not checked here
// (rule_files.h). Used by: rule_follower.h. Errors: unavailable: warder-node is not there or closed the connection, or
// is too slow; invalid: another message; exhausted: more than RuleStore takes.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace cluster {

// `socket`: path of warder-node's socket.
Task<Result<std::vector<std::string>>> fetch_rules(Loop& loop, std::string socket);

}  // namespace cluster
