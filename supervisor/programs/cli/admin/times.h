// Times on the command line: "2h" before now, a date, or a date and time. Used by: history.cc, audit_entries.cc.
// Errors: invalid, naming the flag and the forms.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/result.h"

namespace admin {

// Milliseconds since 1970. `text`: "90s", "30m", "2h", "7d" (before `now_ms`), "2026-11-24", "2026-11-24 22:30",
// "2026-11-24T22:30:05" (local time), each also with a Z at its end (UTC). `flag`: for the error, "--since".
Result<int64_t> parse_time(const char* flag, const std::string& text, int64_t now_ms);
// "2026-11-24 22:30:01" in local time; "-" for a time that is out of range.
std::string local_time(int64_t ms);

}  // namespace admin
