// Process tree: what the processes of a jail use, read from /proc. Stands in for cgroup accounting where there is none.
// Source: proc(5): /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), statm. A jail may change while it is read:
// the numbers are a sample, never a promise.
#pragma once
#include <cstdint>

namespace jail {

struct TreeUsage {
  uint64_t private_bytes = 0;  // resident minus shared, summed
  uint32_t tasks = 0;          // threads, init not counted
};

// The descendants of `init_pid`. Reads at most 1,024 processes.
TreeUsage read_process_tree(int init_pid);

}  // namespace jail
