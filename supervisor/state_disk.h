// StateDisk: whether the disk of the daemon's state takes writes. When a write of the daemon's has failed
// (base/disk_faults.h), a file of its own is written to find out whether that was the disk or only a tenant's quota;
// while the disk takes nothing, that is tried again every second. One line in the log when that begins, one when it
// ends; a disk that comes and goes must hold longer and longer before its end is believed, so that the log is not
// filled. Shown by: the doctor, the bus (DiskProblem) and the metrics (warder_state_disk_failing).
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
  // Files are tried below `state`/journal, on `disk`. `journal_failing`: its last commit failed. `told`: it began or
  // ended. All must outlive it.
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
  std::chrono::seconds quiet_{0};  // that a disk must have been for its trouble to be over
  Scope tasks_;                    // last: cancelled first
};
