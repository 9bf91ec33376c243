// Lowers the priority of jailed code: the nice value of its processes, and that of their sessions' autogroups
// (sched(7)). Meanwhile the jailer has the effective id of the code. So the kernel itself sees to it that only
// processes of that id change, whatever the order names. Source: setpriority(2), PRIO_USER; /proc/PID/autogroup
// (proc(5)). Used by: jail/jailer/jailer.cc. Errors: no report; a process may end at any moment. Ends the jailer if it
// cannot become itself again.
#pragma once
#include <cstdint>
#include <vector>

#include "supervisor/base/fd.h"

namespace jail {

struct CodeIds {
  uint32_t runner = 0;  // the host id of the code
  uint32_t init = 0;    // owns the files below /proc/PID of code that has made itself non-dumpable (proc(5))
};
// `fds`: the pidfd of the jail's init, then pidfds of processes. `nice`: for all processes of ids.runner; 0: unchanged.
// `session_nice`: for the autogroups of the named processes. A session that init or the jailer is in stays as it is.
void lower_priority(CodeIds ids, int nice, int session_nice, const std::vector<Fd>& fds);

}  // namespace jail
