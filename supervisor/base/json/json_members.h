// Members of JSON objects from other programs, which may have any form: a member that is missing or of another type
// reads as null, empty or 0. Fields (fields.h) reads objects whose form is checked. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"

// nullptr: `object` is no object, or has no such member.
const Json* find_member(const Json& object, std::string_view key);
// The same, as a reference; null if there is no such member.
const Json& member(const Json& object, std::string_view key);
// A text; empty if the member is no text.
std::string text_member(const Json& object, std::string_view key);
// A whole number from 0 on; 0 if the member is no such number.
uint64_t number_member(const Json& object, std::string_view key);
