// merged(): one JSON document over another: a policy over the one that it extends, a drop-in over the configuration.
// Pure. No errors.
#pragma once
#include "supervisor/base/json/json_fwd.h"

namespace policies {

// `child` over `base`: objects are merged key by key, all other values are replaced.
Json merged(const Json& base, const Json& child);

}  // namespace policies
