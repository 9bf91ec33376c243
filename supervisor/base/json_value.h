// The definition of Json, for those who look into values: a second to compile. Headers get along with json_fwd.h.
#pragma once
#include <nlohmann/json.hpp>

#include "supervisor/base/insertion_ordered_map.h"
#include "supervisor/base/json_fwd.h"
