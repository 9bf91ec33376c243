// WallClock: the time of one running program, and its end. It does not run while the program stands still: frozen by
// whoever steers it, or held while a call of its waits for somebody; both may be at once, and it goes on after the
// last. Held where no cgroup can stop its processes, it is charged the CPU time that they use meanwhile. Made by
// jail/execution.cc, which says what each end means. A limit that a loop notices late, because the daemon was stopped
// or had much to do, is judged some turns later: what the program had sent by then is read first.
// Errors: unavailable (no cgroup), internal.
#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "jail/jail.h"
#include "jail/meter.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"

namespace jail {

class WallClock {
 public:
  struct Told {
    std::function<void()> late;     // the limit is reached
    std::function<void()> too_old;  // frozen for too long, or it cannot be thawed any more
    std::function<void()> changed;  // it stands still, or goes on
  };
  // All must outlive it; the limit is read whenever the clock goes on.
  WallClock(Loop& loop, Jail& jail, Meter& meter, const std::chrono::milliseconds& limit, Told told)
      : loop_(loop), jail_(jail), meter_(meter), limit_(limit), told_(std::move(told)) {}

  void start();
  bool started() const { return started_at_.has_value(); }
  void stop();  // it has ended: nothing is told any more, whatever is still released
  void limit_changed();

  Result<> freeze();
  Result<> thaw();
  void hold();
  void release();
  // The program has ended: nothing keeps what is left of it standing still.
  void let_go();
  bool stands_still() const { return still_since_.has_value(); }
  // Its processes stand still, too.
  bool is_frozen() const { return stands_still() && jail_.cgroup(); }

  double ran_ms() const;  // 0 before the start
  // To be called regularly.
  void look();

 private:
  void stand_still();
  void go_on();
  void await_limit();
  void reach_limit();
  void give_turns(int left);

  Loop& loop_;
  Jail& jail_;
  Meter& meter_;
  const std::chrono::milliseconds& limit_;
  Told told_;
  std::optional<Monotonic::time_point> started_at_;  // later by the time it stood still for
  std::optional<Monotonic::time_point> still_since_;
  bool stopped_ = false;
  bool frozen_ = false;                    // by freeze()
  uint32_t holds_ = 0;                     // without their release()
  uint64_t held_cpu_from_us_ = 0;          // without a cgroup: used when it began to stand still
  std::chrono::microseconds held_cpu_{0};  // and since
  double due_ms_ = 0;                      // what ran_ms() is when the deadline is noticed in time
  Deadline deadline_;
};

}  // namespace jail
