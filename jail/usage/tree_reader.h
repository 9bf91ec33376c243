// TreeReader: reads process trees on a thread of its own. A look costs the more, the more processes the code has made,
// and the kernel makes a reader of /proc/PID/smaps wait for the process. One reading follows the other, some 50 us for
// each process. Errors: TreeUsage::is_read is false. Used by: jail/execution/meter.cc, jail/execution/session.cc,
// supervisor/upstream/jailed_process.cc.
#pragma once
#include <memory>

#include "jail/usage/process_tree.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"
#include "supervisor/base/worker_thread.h"

namespace jail {

class TreeReader {
 public:
  // The loop must outlive the reader. The thread starts with the first reading.
  explicit TreeReader(Loop& loop) : loop_(loop) {}
  ~TreeReader();  // waits at most a second
  TreeReader(const TreeReader&) = delete;

  // read_process_tree(). While no thread can be made, it reads at once.
  Task<TreeUsage> read(int init_pid, std::shared_ptr<const SharedValues> apart = nullptr);

 private:
  Loop& loop_;
  std::unique_ptr<WorkerThread> thread_;
};

}  // namespace jail
