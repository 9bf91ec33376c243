// TreeUsage and LoneProcess: what the processes of a jail use, read from /proc. They replace cgroup accounting where
// there are no cgroups.
// Source: proc(5): /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), status. A jail may change while it is read: the
// numbers are samples, and not exact. Used by: jail/meter.cc, jail/session.cc, jail/teardown_queue.cc,
// supervisor/upstream/jailed_process.cc.
#pragma once
#include <cstdint>
#include <optional>

#include "supervisor/base/fd.h"

namespace jail {

struct TreeUsage {
  // The sum over all processes of anonymous memory (resident or swapped out), page tables and huge pages. Pages that a
  // fork shares with its parent are counted for both. Plus the largest share of shared memory that one process maps:
  // without a cgroup, shared memory exists only as files of the temporary folders (policies/uncounted_memory.h), which
  // several processes may map. Plus, for each socket beyond the first 64, open or sent in a message, the most that it
  // may hold.
  uint64_t memory_bytes = 0;
  uint32_t tasks = 0;  // threads, init not counted
};

// Usage of the descendants of `init_pid`. Reads at most 1,024 processes.
TreeUsage read_process_tree(int init_pid);

// CPU time of these processes so far, with that of ended processes that were waited for; in steps of 10 ms a process.
uint64_t read_tree_cpu_us(int init_pid);

// LoneProcess: the usage of a jail that consists of init and one other process.
struct LoneProcess {
  uint64_t cpu_us = 0;      // includes children that it has waited for, counted in steps of 10 ms
  uint64_t peak_bytes = 0;  // resident, including shared pages
};
enum class Threads { one, any };  // any: an interpreter with helper threads
class LoneProcessFiles {
 public:
  LoneProcessFiles() = default;
  // Opens the files ahead of time, because opening costs several times as much as reading. The descriptors name these
  // processes, even if their numbers are reused.
  explicit LoneProcessFiles(int init_pid);
  explicit operator bool() const { return pid_ != 0; }
  // Empty when there are more processes or threads, or no process: then the usage is known only after their end.
  std::optional<LoneProcess> read(Threads allowed) const;

 private:
  bool has_children(Threads threads) const;
  int pid_ = 0;  // of the process beside init
  Fd of_init_, children_, stat_, status_;
};

}  // namespace jail
