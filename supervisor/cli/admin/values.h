// Members of what a bus answered, as JSON. Whoever owns the daemon's name may answer anything: what is missing or of
// another kind is 0 or empty, never an exception.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/json_value.h"

namespace admin {

const Json& member(const Json& of, const char* key);  // null where there is none
const Json& element(const Json& of, size_t index);
uint64_t number(const Json& value);
std::string text(const Json& value);
inline uint64_t number(const Json& of, const char* key) { return number(member(of, key)); }
inline std::string text(const Json& of, const char* key) { return text(member(of, key)); }
// For --json: one line, ASCII alone, so that no terminal is driven by it.
void print_json(const Json& value);

}  // namespace admin
