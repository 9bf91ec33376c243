// json_beginning(): the beginning of a value's JSON text, for messages. Used by: policies/schema.
#pragma once
#include <cstddef>
#include <string>

#include "supervisor/base/json/json_fwd.h"

// The text of `value`, up to about `max` bytes: the work does not grow with the size of the value. Each bracket that
// was opened is closed.
std::string json_beginning(const Json& value, size_t max);
