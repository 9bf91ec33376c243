// next_file_time(): for tests that tell files apart by their times.
#pragma once
#include <ctime>

// Waits until files that are written get a later time than all files that were written before. Files have the time of
// the last tick; since Linux 6.13, also of now, if their times were read since (multigrain timestamps). So the time of
// the last tick must pass what the exact clock says now.
inline void next_file_time() {
  const auto now_ns = [](clockid_t clock) {
    timespec now;
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  };
  const long long exact = now_ns(CLOCK_REALTIME);
  while (now_ns(CLOCK_REALTIME_COARSE) <= exact) continue;
}
