// Process tree: what the processes of a jail use, read from /proc. Stands in for cgroup accounting where there is none.
// Source: proc(5): /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), status. A jail may change while it is read:
// the numbers are a sample, never a promise.
#pragma once
#include <cstdint>
#include <optional>

#include "supervisor/base/fd.h"

namespace jail {

struct TreeUsage {
  // Of all processes: anonymous memory, resident or swapped out, page tables and huge pages. Pages that a fork shares
  // with its parent are counted for both. Of shared memory the largest share that one process maps: without a cgroup
  // there is none but files of the temporary folders (policies/uncounted_memory.h), which several processes may map.
  // Of sockets, sent about or open, what they may hold at most, for each beyond the first 64.
  uint64_t memory_bytes = 0;
  uint32_t tasks = 0;  // threads, init not counted
};

// The descendants of `init_pid`. Reads at most 1,024 processes.
TreeUsage read_process_tree(int init_pid);

// CPU time of all of these so far, of those that have ended and were waited for, too; in steps of 10 ms a process.
uint64_t read_tree_cpu_us(int init_pid);

// The one process beside init that a jail consists of.
struct LoneProcess {
  uint64_t cpu_us = 0;      // with that of children that it has waited for, which counts in steps of 10 ms
  uint64_t peak_bytes = 0;  // resident, with what it shares
};
enum class Threads { one, any };  // any: an interpreter that has some of its own
class LoneProcessFiles {
 public:
  LoneProcessFiles() = default;
  // Opened while nobody waits for them: opening costs several times what reading does. They name these processes, not
  // whoever has their numbers later.
  explicit LoneProcessFiles(int init_pid);
  explicit operator bool() const { return pid_ != 0; }
  // Nothing when there are more processes or threads, or none: then only their end tells what they used.
  std::optional<LoneProcess> read(Threads allowed) const;

 private:
  bool has_children(Threads threads) const;
  int pid_ = 0;  // of the one beside init
  Fd of_init_, children_, stat_, status_;
};

}  // namespace jail
