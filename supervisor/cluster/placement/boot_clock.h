// BootClock: CLOCK_BOOTTIME, a monotonic clock that also counts the time in which the machine was suspended.
// Leases need it: CLOCK_MONOTONIC stands still while the machine sleeps, and a node would wake with a lease that
// another node has taken over meanwhile. Times of this clock are never sent to another machine: clocks of machines are
// not compared. Not seen by this clock: a virtual machine that its host paused together with its clocks.
#pragma once
#include <time.h>

#include <chrono>

namespace cluster {

struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    timespec since_boot{};
    clock_gettime(CLOCK_BOOTTIME, &since_boot);  // cannot fail for this clock (clock_gettime(2))
    return time_point(std::chrono::seconds(since_boot.tv_sec) + std::chrono::nanoseconds(since_boot.tv_nsec));
  }
};

}  // namespace cluster
