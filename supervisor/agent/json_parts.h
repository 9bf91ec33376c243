// Reads parts of JSON from other programs, which may have any form.
// Source: the model's server, the daemon, a transcript. No errors: a part of another type is as one that is missing.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/json_value.h"

namespace agent {

// The member `key`; null if `object` is no object or has no such member.
const Json& part_of(const Json& object, const char* key);
// The text of a member; empty if it is no text.
std::string text_part(const Json& object, const char* key);
// A member that counts something; 0 if it is no such number.
uint64_t count_part(const Json& object, const char* key);

}  // namespace agent
