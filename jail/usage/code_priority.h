// CodePriority: lets the daemon, the jailer and zygotes run before the code of jails on a machine where no cgroup
// shares the processors. The kernel weighs processes by two values (sched(7)): the nice value of a process, and, where
// it makes autogroups (CONFIG_SCHED_AUTOGROUP), that of the session. With autogroups a nice value counts only within
// its session, and each setsid(2) makes a new autogroup with nice value 0. So both values are lowered, and new sessions
// are looked for. Source: the looks of the memory watch, so a program that is over before the first look costs nothing,
// and code runs at the usual priority until then. Used by: jail/execution/running_execution.cc,
// jail/execution/session.cc, supervisor/upstream/jailed_process.cc, supervisor/upstream/host_process.cc.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "jail/jailer_client/jailer_client.h"
#include "jail/usage/process_tree.h"

namespace jail {

class CodePriority {
 public:
  struct Step {
    size_t above;  // processes that run or wait for a processor
    int nice;
  };
  // A nice value weighs against every process of the machine, a build beside Warder, too: at 10, code beside two busy
  // programs got a twentieth of a processor. So a program of few processes is barely lowered, and many share what one
  // has.
  static constexpr Step kSteps[] = {{0, 2}, {8, 10}, {32, 19}};
  static constexpr size_t kPrograms = 4;  // all programs together have this many times a program's number of processes

  CodePriority() = default;
  ~CodePriority() { all_ -= counted_; }
  CodePriority(const CodePriority&) = delete;
  CodePriority& operator=(const CodePriority&) = delete;

  struct Target {
    int init_pid = 0;
    int init_pidfd = -1;             // borrowed during the call
    JailerClient* jailer = nullptr;  // nullptr: the code has the daemon's host id, so the daemon needs no jailer
  };
  // Nice values of processes stay when their number falls (setpriority(2) does not raise them again). If an order or a
  // write fails, the next look tries again.
  void inspect(const Target& target, const TreeUsage& usage);

 private:
  static bool lower_processes(const Target& target, const std::vector<int>& processes, int nice);
  // `sessions`: by number, a process of each.
  void lower_sessions(const Target& target, const std::map<int, int>& sessions, int nice);

  static inline size_t all_ = 0;  // processes of all programs that were running at the last look at each
  size_t counted_ = 0;            // of them, this program's
  int nice_ = 0;                  // that the processes got
  int of_sessions_ = 0;           // that the autogroups got
  std::set<int> lowered_;         // existing sessions with lowered autogroups
};

// Lowers a process of the daemon's own id, and its session's autogroup: an upstream server outside of jails. The
// process has just begun a session. False: the kernel refuses the write now, so try again.
bool lower_process(int pid);

}  // namespace jail
