// Clocks: durations are measured on CLOCK_MONOTONIC only. The wall clock is for people to read.
#pragma once
#include <chrono>

using Monotonic = std::chrono::steady_clock;  // CLOCK_MONOTONIC on Linux

inline double ms_since(Monotonic::time_point start) {
  return std::chrono::duration<double, std::milli>(Monotonic::now() - start).count();
}
