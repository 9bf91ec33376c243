// StateDisk: whether the disk of the state folder takes writes.
// Source: base/disk_faults.h counts the daemon's failed writes. After a failed write, StateDisk writes a test file, to
// find out whether the disk failed or only a tenant's quota was full. While the disk fails, the test repeats every
// second. The log has one line when the trouble begins and one when it ends. If trouble begins again within 10 minutes,
// the disk must work for longer before the trouble counts as over (2 s, doubled each time, at most 5 minutes), so that
// the log is not filled.
// Used by: the doctor, the bus (DiskProblem) and the metrics (warder_state_disk_failing).
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

class StateDisk {
 public:
  struct Trouble {
    std::string what;  // "the state folder's disk takes no writes (/var/lib/warder: No space left on device)"
    std::string remedy;
  };
  // The test files are written below `state`/journal, by jobs on `disk`. `journal_failing` says whether the journal's
  // last commit failed. `told` is called when trouble begins or ends. `loop`, `disk` and all objects that the functions
  // use must outlive the StateDisk.
  StateDisk(Loop& loop, WorkerThread& disk, std::string state, std::function<bool()> journal_failing,
            std::function<void()> told);

  const std::optional<Trouble>& trouble() const { return trouble_; }

 private:
  Task<> watch();
  Task<int> try_to_write();
  void begin(int error);
  void end();

  Loop& loop_;
  WorkerThread& disk_;
  std::string state_;
  std::function<bool()> journal_failing_;
  std::function<void()> told_;
  std::optional<Trouble> trouble_;
  Monotonic::time_point began_at_, last_fault_at_;
  std::optional<Monotonic::time_point> ended_at_;
  std::chrono::seconds quiet_{0};  // time without a fault before the trouble counts as over
  Scope tasks_;                    // last: cancelled first
};
