// Reads parts of JSON from other programs, which may have any form.
// Source: the model's server, the daemon, a transcript. No errors: a part of another type counts as missing.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/json_value.h"

namespace agent {

// The member `key`; null if `object` is no object or lacks the member.
const Json& part_of(const Json& object, const char* key);
// The text of a member; empty if it is no text.
std::string text_part(const Json& object, const char* key);
// A count; 0 if the member is no count.
uint64_t count_part(const Json& object, const char* key);

}  // namespace agent
