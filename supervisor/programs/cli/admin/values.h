// Values: reads members of the daemon's answers as JSON. A hostile process could own the daemon's bus name, so a
// missing member or a member of another type reads as 0 or empty, never as an exception.
// Source: D-Bus messages. Used by: the commands of warder-admin and the dashboard.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"

namespace admin {

using ::member;  // null if the member is missing
const Json& element(const Json& of, size_t index);
uint64_t number(const Json& value);
std::string text(const Json& value);
inline uint64_t number(const Json& of, const char* key) { return number(member(of, key)); }
inline std::string text(const Json& of, const char* key) { return text(member(of, key)); }
// Empty: the member is missing, or 2^64-1, which means "not known".
std::optional<uint64_t> known_number(const Json& of, const char* key);
// The client of an execution, a call or a tenant, of the members Principal and UID: "uid:1000", "token:ci"; "-".
std::string client_text(const Json& of);
// For --json: prints one line of ASCII, so that the text cannot control a terminal.
void print_json(const Json& value);

}  // namespace admin
