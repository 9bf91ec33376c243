// LivingJails: the jailer's table of processes that are the init of a jail. The jailer looks a process up before it
// enters or ends the jail that an order names by pidfd. The table holds jails that the jailer built. Forks of a zygote
// are recognized by their descent from a zygote's home.
// Used by: jail/jailer/order_check.h. Errors: none; an unknown process is nullptr.
#pragma once
#include <cstdint>
#include <map>

#include "jail/plan_parts.h"
#include "supervisor/base/fd.h"

namespace jail {

struct LivingJail {
  int pid = 0;             // of the jail's init, in the jailer's pid namespace
  Fd pidfd;                // of the jail's init
  uint32_t runner_id = 0;  // host id of the jail's code
  Role role = Role::jail;
  bool attached = false;  // a workspace was attached, or the attempt was made
};

class LivingJails {
 public:
  static constexpr size_t kMax = 32768;

  // `init_id`: the host id of init in every jail.
  explicit LivingJails(uint32_t init_id) : init_id_(init_id) {}

  // False when kMax jails live. Call it before each add(); it also removes some dead jails from the table.
  bool has_room();
  // `pidfd` refers to `pid`, which has not been reaped yet, or only a moment ago.
  LivingJail& add(int pid, Fd pidfd, uint32_t runner_id, Role role);

  // The jail in the table whose init has this number; pid_of() must have just read the number from a pidfd. nullptr: no
  // jail.
  LivingJail* find(int pid);
  // For processes that find() does not know: the zygote's home that the process was forked from. `pid`: the result of
  // pid_of(pidfd). nullptr: the process is not the init of a fork.
  const LivingJail* home_of_fork(int pidfd, int pid);

 private:
  const LivingJail* find_home(int pid);
  void forget_dead(size_t count);

  uint32_t init_id_;
  std::map<int, LivingJail> jails_;  // by pid; some of the jails may be dead
  int last_checked_ = 0;             // pid
};

}  // namespace jail
