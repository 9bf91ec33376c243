// Members of what a bus answered, as JSON. Whoever owns the daemon's name may answer anything: what is missing or of
// another kind is 0 or empty, never an exception.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace admin {

using nlohmann::json;

const json& member(const json& of, const char* key);  // null where there is none
const json& element(const json& of, size_t index);
uint64_t number(const json& value);
std::string text(const json& value);
inline uint64_t number(const json& of, const char* key) { return number(member(of, key)); }
inline std::string text(const json& of, const char* key) { return text(member(of, key)); }
// For --json: one line, ASCII alone, so that no terminal is driven by it.
void print_json(const json& value);

}  // namespace admin
