// TeardownQueue: holds jails between their answer and their end. To end a jail takes a processor for more than a
// millisecond, and the answer comes first. While executions keep every processor busy, their answers come first, too.
// Used by: jail/pool/pool.h. When the queue is destroyed, the jails in it are killed.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"

namespace jail {

class Jail;

class TeardownQueue {
 public:
  // The content of a jail after its answer. `little`: only its runner, and the program used at most kLittleBytes; some
  // dozens of these jails do no harm.
  enum class Remainder { anything, little };
  static constexpr uint64_t kLittleBytes = 32 << 20;

  // `is_crowded`: true if there are as many executions as processors. The loop must outlive the queue.
  TeardownQueue(Loop& loop, std::function<bool()> is_crowded);

  // Kills the jail after 2 ms. A jail with Left::little stays for up to 200 ms while is_crowded(). A cgroup freezes it
  // for that time. Without a cgroup it is checked every 10 to 50 ms, and killed if it used CPU time.
  void end(std::unique_ptr<Jail> jail, Remainder remaining);

 private:
  Task<> end_later(std::unique_ptr<Jail> jail, Remainder remaining);
  Task<> stay(Jail& jail);

  Loop& loop_;
  std::function<bool()> is_crowded_;
  uint32_t staying_ = 0;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail
