// TeardownQueue: holds jails between their answer and their end. Ending one takes a processor for more than a
// millisecond, which the answer needs first; and while executions keep every processor busy, so do their answers. Used
// by: jail/pool.h. What is still here when it goes is killed with it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "jail/jail.h"

namespace jail {

class TeardownQueue {
 public:
  // What a jail has in it after its answer. `little`: its runner alone, whose program has used kLittleBytes at most; a
  // few dozen more of such do no harm.
  enum class Left { anything, little };
  static constexpr uint64_t kLittleBytes = 32 << 20;

  // `is_crowded`: there are as many executions as processors. The loop must outlive this.
  TeardownQueue(Loop& loop, std::function<bool()> is_crowded);

  // Kills it in a moment, 2 ms. One that has little left stays for up to 200 ms while it is crowded; it is frozen for
  // that time where a cgroup holds it; where none does, it is looked at every 25 ms, and killed when it has not rested.
  void end(std::unique_ptr<Jail> jail, Left left);

 private:
  Task<> end_later(std::unique_ptr<Jail> jail, Left left);
  Task<> stay(Jail& jail);

  Loop& loop_;
  std::function<bool()> is_crowded_;
  uint32_t staying_ = 0;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail
