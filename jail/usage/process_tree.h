// TreeUsage and LoneProcess: what the processes of a jail use, read from /proc. They replace cgroup accounting where
// there are no cgroups.
// Source: proc(5): /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), status. A jail may change while it is read: the
// numbers are samples, and not exact. Used by: jail/execution/meter.cc, jail/execution/session.cc,
// jail/pool/teardown_queue.cc, supervisor/upstream/jailed_process.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jail/shared_values.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"

namespace jail {

struct TreeUsage {
  bool is_read = false;  // false: /proc could not be read, or init is gone; then all else is 0
  // The sum over all processes of anonymous memory (resident or swapped out), page tables and huge pages. Pages that a
  // fork shares with its parent are counted for both. Plus the largest share of shared memory that one process maps:
  // without a cgroup, shared memory exists only as files of the temporary folders (policies/uncounted_memory.h), which
  // several processes may map. Plus, for each socket beyond the first 64, open or sent in a message, the most that it
  // may hold.
  uint64_t memory_bytes = 0;
  uint64_t cpu_us = 0;         // in steps of 10 ms a process; with ended processes that were waited for
  uint64_t shared_bytes = 0;   // the part of memory_bytes that is shared memory
  uint32_t tasks = 0;          // threads, init not counted
  size_t running = 0;          // processes whose first thread runs or waits for a processor
  std::vector<int> processes;  // the host's pids, init not among them; the interpreter, or what it became, is first
};

// Usage of the descendants of `init_pid`. Reads at most 1,024 processes, some 50 us each; see TreeReader.
// `apart`: pages of this file do not count. It is found by its device and inode in /proc/PID/smaps, which takes
// milliseconds to read if much is mapped.
TreeUsage read_process_tree(int init_pid, const SharedValues* apart = nullptr);

// ValuesApart: how much of a jail's memory is pages of `values`, which are charged where they were written. Only pages
// of that file count, by its device and inode in /proc/PID/smaps: other shared memory, and the copies that the jail
// made of the pages, stay the jail's. Reading smaps takes milliseconds for a large file. It is read when the memory
// would be over the limit, and then once a second; between two looks no more is taken off than RssShmem shows.
class ValuesApart {
 public:
  // `values` may be nullptr: then nothing is ever taken off, and nothing must be read.
  explicit ValuesApart(std::shared_ptr<const SharedValues> values) : values_(std::move(values)) {}
  explicit operator bool() const { return values_ != nullptr; }
  const std::shared_ptr<const SharedValues>& values() const { return values_; }
  // usage.memory_bytes without the pages that were found at the last reading.
  uint64_t memory_bytes(const TreeUsage& usage) const;
  // Whether take() should have a new reading before memory_bytes() is asked again.
  bool must_read(const TreeUsage& usage, uint64_t limit_bytes) const;
  // `without_values`: read_process_tree() with `apart`.
  void take(const TreeUsage& usage, const TreeUsage& without_values);

 private:
  std::shared_ptr<const SharedValues> values_;
  uint64_t apart_bytes_ = 0;
  Monotonic::time_point read_at_;
};

// LoneProcess: the usage of a jail that consists of init and one other process.
struct LoneProcess {
  uint64_t cpu_us = 0;        // includes children that it has waited for, counted in steps of 10 ms
  uint64_t peak_bytes = 0;    // resident, including shared pages
  uint64_t shared_bytes = 0;  // shared memory that is resident now
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
  // CPU time that the process has used by itself, in microseconds. A tenth of the work of read(). Empty when there are
  // more processes, or no process. Children that other threads than the first have started are not seen.
  std::optional<uint64_t> own_cpu_us() const;

 private:
  bool is_only_child() const;
  bool has_children(Threads threads) const;
  int pid_ = 0;  // of the process beside init
  Fd of_init_, children_, stat_, status_;
};

}  // namespace jail
