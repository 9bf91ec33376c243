// LivingJails: which processes are the init of a jail of ours. The jailer asks before it enters or ends what an order
// names by a pidfd. Jails that the jailer built are in the table; a zygote's forks are known by their descent from one.
#pragma once
#include <cstdint>
#include <map>

#include "jail/plan.h"
#include "supervisor/base/fd.h"

namespace jail {

struct LivingJail {
  int pid = 0;             // of its init, in the jailer's pid namespace
  Fd pidfd;                // of its init
  uint32_t runner_id = 0;  // host id of its code
  Role role = Role::jail;
  bool attached = false;  // a workspace was, or was tried to be, attached
};

class LivingJails {
 public:
  static constexpr size_t kMost = 32768;

  // `init_id`: the host id of every jail's init.
  explicit LivingJails(uint32_t init_id) : init_id_(init_id) {}

  // False when kMost jails live. Asked before each add(), it forgets some of the dead.
  bool has_room();
  // `pidfd` is that of `pid`, which has not been reaped yet, or was a moment ago.
  LivingJail& add(int pid, Fd pidfd, uint32_t runner_id, Role role);

  // The jail in the table whose init has this number, which pid_of() has just read from a pidfd; nullptr: none.
  LivingJail* find(int pid);
  // For what find() does not know: the jail that it was forked from, the home of a zygote. `pid`: as pid_of(pidfd)
  // said. nullptr: this is not a fork's init.
  const LivingJail* home_of_fork(int pidfd, int pid);

 private:
  const LivingJail* find_home(int pid);
  void forget_dead(size_t looked_at);

  uint32_t init_id_;
  std::map<int, LivingJail> jails_;  // by pid; some of them dead
  int looked_at_last_ = 0;           // pid
};

}  // namespace jail
