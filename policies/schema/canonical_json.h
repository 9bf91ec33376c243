// Canonical JSON: equal values have equal texts, so that a set of texts finds values that are listed twice. 1 and 1.0
// are one number, and the order of keys has no meaning. Used by: json_schema.cc (uniqueItems).
#pragma once
#include <string>

#include "supervisor/base/json/json_fwd.h"

namespace policies {

// Appends the canonical text of `value`. Linear in its size.
void append_canonical(std::string& text, const Json& value);

}  // namespace policies
