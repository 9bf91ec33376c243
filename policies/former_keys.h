// Former keys: names that keys of policies had in earlier versions. Files may still use them; `warder policy check`
// reports each with the name it has now. Applied to each file before policies extend one another.
#pragma once
#include <string>
#include <vector>

#include "policies/policy.h"
#include "supervisor/base/json_fwd.h"

namespace policies {

// Gives the keys of one policy's document their present names. Returns one sentence for each key that was renamed:
// "pool.least is now named pool.min_idle". Problems are invalid: an object that has a key under both of its names.
std::vector<std::string> rename_former_keys(Json& document, Problems& problems);

}  // namespace policies
