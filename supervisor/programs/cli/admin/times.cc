#include "supervisor/programs/cli/admin/times.h"

#include <charconv>
#include <ctime>
#include <string_view>

namespace admin {
namespace {

constexpr int64_t kMaxSpan = 1'000'000'000;  // seconds; 31 years

Result<int64_t> bad_time(const char* flag, const std::string& text) {
  return fail(Code::invalid, std::string(flag) + ": '" + text + "' is not a time",
              "give a time before now (90s, 30m, 2h, 7d), a date (2026-11-24), or a date and time "
              "(2026-11-24T22:30:05, with a Z at the end for UTC)");
}

// Seconds of a unit; 0: it is no unit.
int64_t seconds_of(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3'600;
  return unit == "d" ? 86'400 : unit == "w" ? 604'800 : 0;
}

}  // namespace

Result<int64_t> parse_time(const char* flag, const std::string& text, int64_t now_ms) {
  int64_t amount = 0;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, amount);
  if (number.ec == std::errc()) {
    const int64_t unit = seconds_of({number.ptr, static_cast<size_t>(end - number.ptr)});
    if (unit > 0 && amount >= 0 && amount <= kMaxSpan / unit) return now_ms - amount * unit * 1000;
  }
  const bool is_utc = text.ends_with('Z');
  const std::string local = is_utc ? text.substr(0, text.size() - 1) : text;
  for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* rest = ::strptime(local.c_str(), form, &parts);
    if (rest == nullptr || *rest != '\0') continue;
    parts.tm_isdst = -1;
    const std::time_t seconds = is_utc ? ::timegm(&parts) : std::mktime(&parts);
    return static_cast<int64_t>(seconds) * 1000;
  }
  return bad_time(flag, text);
}

std::string local_time(int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return "-";
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

}  // namespace admin
