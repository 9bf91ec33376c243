// set_slice(): how long a thread computes before the scheduler looks at the others. From Linux 6.12 on, a thread with a
// short slice that wakes runs before one with a longer slice, where otherwise it waits for the next tick of the clock
// (1 to 10 ms, for each wake on the way of a call). So daemon, jailer, inits and zygotes have a short slice, and code
// has the usual one: jail/init gives it back. Source: sched(7), sched_setattr(2): sched_runtime of a usual policy.
// Processes and threads inherit it. Used by: jail/jailer_client/jailer_start.cc, jail/init/confine.cc,
// supervisor/upstream/host_process.cc.
#pragma once
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace jail {

constexpr uint64_t kShortSliceNs = 100'000;  // the least that the kernel takes
constexpr uint64_t kUsualSlice = 0;

// sched_setattr(2): struct sched_attr, which no header of Debian 12 defines beside the C library's.
struct SchedulingValues {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns, deadline_ns, period_ns;
};

// Sets the slice of the thread `tid`; 0: of the calling one. An older kernel ignores it; where it is refused, the slice
// stays.
inline void set_slice(uint64_t nanoseconds, int tid = 0) {
  SchedulingValues values{};
  if (::syscall(SYS_sched_getattr, tid, &values, sizeof values, 0) < 0) return;
  if (values.policy != SCHED_OTHER && values.policy != SCHED_BATCH) return;
  values.runtime_ns = nanoseconds;
  (void)::syscall(SYS_sched_setattr, tid, &values, 0);
}

}  // namespace jail
