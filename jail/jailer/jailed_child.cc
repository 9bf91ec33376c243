#include "jail/jailer/jailed_child.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace jail {

int guard_child() { return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ? errno : 0; }

int enter_jail(int init, int namespaces) {
  if (const int error = guard_child()) return error;
  return setns(init, namespaces) < 0 ? errno : 0;
}

void end_in_jail() {
  syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE);
  _exit(0);
}

}  // namespace jail
