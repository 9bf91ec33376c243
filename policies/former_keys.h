// Former keys: names that keys of policies had in earlier versions. Files may still use them; `warder policy check`
// reports each former name with the present name. Applied to each file before policies extend one another. Used by:
// store.cc.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// Gives the keys of one policy's document their present names. Returns one sentence for each renamed key: "pool.least
// is now named pool.min_idle". Problems are invalid: an object that has a key under both names.
std::vector<std::string> rename_former_keys(Json& document, std::vector<Error>& problems);

}  // namespace policies
