// Clocks: durations are measured on CLOCK_MONOTONIC only. The wall clock is for people to read.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

using Monotonic = std::chrono::steady_clock;  // CLOCK_MONOTONIC on Linux

inline double ms_since(Monotonic::time_point start) {
  return std::chrono::duration<double, std::milli>(Monotonic::now() - start).count();
}

// "2026-11-21T12:34:56Z", from nanoseconds since 1970. Empty for a year that does not fit into an int.
std::string iso_time(int64_t since_1970_ns);
std::string iso_time_now();
