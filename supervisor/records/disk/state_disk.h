// StateDisk: whether the disk of the state folder takes writes.
// Source: base/disk_faults.h counts the daemon's failed writes. After a failed write, StateDisk writes a test file, to
// find out whether the disk failed or only a tenant's quota was full. While the disk fails, the test repeats every
// second. The log has one line when the trouble begins and one when it ends. If trouble begins again within 10 minutes,
// the disk must work for longer before the trouble counts as over (2 s, doubled each time, at most 5 minutes), so that
// the log is not filled.
// The reserve (journal/reserve.h): when the journal finds no space, relieve() ends the programs that write, then gives
// the reserve's space to the journal. From then on there is trouble, and no new program runs, until the reserve is made
// again.
// Used by: the doctor, the bus (DiskProblem) and the metrics (warder_state_disk_failing).
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

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
  // last commit failed. `reported` is called when trouble begins or ends. `loop`, `disk` and all objects that the
  // functions use must outlive the StateDisk. `end_writers` ends the programs that have written to the disk, or with
  // `all` every program, and returns when they are gone.
  using EndWriters = std::function<Task<>(bool all)>;
  StateDisk(Loop& loop, WorkerThread& disk, std::string state, std::function<bool()> journal_failing,
            std::function<void()> reported, EndWriters end_writers);

  const std::optional<Trouble>& trouble() const { return trouble_; }
  // Why no program may begin: only the reserve is left for records. nullopt: programs may begin. Its Code: exhausted.
  // `subject`: the begin of its text.
  std::optional<Error> refusal(
      std::string_view subject = "the program did not run, because it cannot be recorded") const;
  // Why the disk has no reserve although there is space; empty: it has one. `reserve_bytes`: 0 without.
  const std::string& reserve_problem() const { return reserve_problem_; }
  uint64_t reserve_bytes() const { return reserve_ == Reserve::there ? reserve_bytes_ : 0; }

  // The journal found no space. True: there may be some now, so it tries again.
  Task<bool> relieve();

 private:
  Task<> watch();
  Task<int> try_to_write();
  Task<int> make_reserve();
  Task<int> examine();
  void begin(int error);
  void end();

  Loop& loop_;
  WorkerThread& disk_;
  std::string state_;
  std::function<bool()> journal_failing_;
  std::function<void()> reported_;
  EndWriters end_writers_;
  enum class Reserve { none, there, spent } reserve_ = Reserve::none;
  uint64_t reserve_bytes_ = 0;
  std::string reserve_problem_;
  bool has_ended_all_ = false;  // all programs, since the trouble began
  std::optional<Trouble> trouble_;
  Monotonic::time_point started_at_, last_fault_at_;
  std::optional<Monotonic::time_point> ended_at_;
  std::chrono::seconds quiet_{0};  // time without a fault before the trouble counts as over
  Scope tasks_;                    // last: cancelled first
};
