// The time of day as a number, for rows and for people. Durations are measured on Monotonic (clock.h). No errors.
#pragma once
#include <chrono>
#include <cstdint>

// Milliseconds since 1970.
inline int64_t system_now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}
// Microseconds since 1970.
inline uint64_t system_now_usec() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}
