// The definition of Json, for code that reads or writes a Json's contents. It takes a second to compile: headers should
// include json_fwd.h instead.
#pragma once
#include <nlohmann/json.hpp>

#include "supervisor/base/json/insertion_ordered_map.h"
#include "supervisor/base/json/json_fwd.h"
