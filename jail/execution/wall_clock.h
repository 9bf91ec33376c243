// WallClock: the time limit of one running program. The clock does not run while the program is paused. A program is
// paused when it is frozen by its handle, or held while one of its calls waits for a person. Both may be true at
// once; it continues when both are over. If no cgroup can stop the held processes, the CPU time that they use counts as
// wall time.
// Source: jail/execution/running_execution.cc makes it and sets the callbacks. When the loop notices the limit late,
// because the daemon was stopped or busy, the limit is applied some turns later: messages that the program had sent by
// then are read first. Errors: unavailable (no cgroup), internal.
#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "jail/jail.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"

namespace jail {

class WallClock {
 public:
  struct Callbacks {
    std::function<void()> late;     // the limit is reached
    std::function<void()> too_old;  // frozen for too long, or the thaw failed
    std::function<void()> changed;  // the program was paused, or continues
  };
  // All references must outlive the clock; `limit` is read whenever the clock starts to run.
  WallClock(Loop& loop, Jail& jail, const std::chrono::milliseconds& limit, Callbacks callbacks)
      : loop_(loop), jail_(jail), limit_(limit), callbacks_(std::move(callbacks)) {}

  void start();
  bool started() const { return started_at_.has_value(); }
  void stop();  // the program has ended: no callback is called any more, even after a release()
  void limit_changed();

  Result<> freeze();
  Result<> thaw();
  void hold();
  void release();
  // The program has ended: its remaining processes are not paused any more.
  void let_go();
  bool stands_still() const { return still_since_.has_value(); }
  // True if its processes are stopped, too.
  bool is_frozen() const { return stands_still() && jail_.cgroup(); }

  double ran_ms() const;  // 0 before the start
  // Call it regularly. `tree_cpu_us`: without a cgroup, TreeUsage::cpu_us.
  void inspect(uint64_t tree_cpu_us);

 private:
  void stand_still();
  void go_on();
  void await_limit();
  void reach_limit();
  void give_turns(int remaining);

  Loop& loop_;
  Jail& jail_;
  const std::chrono::milliseconds& limit_;
  Callbacks callbacks_;
  std::optional<Monotonic::time_point> started_at_;  // start time, moved later by the time of each pause
  std::optional<Monotonic::time_point> still_since_;
  bool stopped_ = false;
  bool frozen_ = false;  // by freeze()
  uint32_t holds_ = 0;   // calls of hold() without their release()
  // Without a cgroup: CPU time at the first look of the pause, until which CPU time is not counted; empty: none yet.
  std::optional<uint64_t> held_cpu_from_us_;
  std::chrono::microseconds held_cpu_{0};  // CPU time used since then
  double due_ms_ = 0;                      // ran_ms() at which the deadline is due
  Deadline deadline_;
};

}  // namespace jail
