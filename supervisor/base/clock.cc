#include "supervisor/base/clock.h"

#include <fmt/format.h>

#include <ctime>

std::string iso_time(int64_t since_1970_ns) {
  std::time_t seconds = since_1970_ns / 1'000'000'000;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};  // a year beyond int
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string iso_time_now() { return iso_time(static_cast<int64_t>(std::time(nullptr)) * 1'000'000'000); }
