// Meter: what one program uses of its jail. What the interpreter took to start, and what earlier programs of a session
// used and still hold, is not its own.
// Source: the jail's cgroup; where there is none, /proc (process_tree.h) and what init reports of the runner's end.
#pragma once
#include <cstdint>
#include <optional>

#include "jail/jail.h"
#include "jail/outcome.h"

namespace jail {

struct JailUsage {
  double wall_ms = 0;  // from when the interpreter had the code to the end
  double cpu_ms = 0;
  uint64_t memory_peak_bytes = 0;  // with the interpreter's own where no cgroup counts it
  uint32_t processes_peak = 0;     // 0: not known
};

class Meter {
 public:
  enum class Program { first, later };  // of its jail
  Meter(Jail& jail, Program program) : jail_(jail), program_(program) {}

  // The program begins. The first one's limits are set, on top of what a jail that waited holds already.
  // Errors: internal, what the kernel said to a limit.
  Result<> begin(const policies::Limits& limits, Start start);
  // What it was granted memory on top of; 0: nothing.
  uint64_t granted_bytes() const { return granted_; }

  // To be asked regularly: what the program has used so far (cpu_us, where a cgroup counts it), and what its jail
  // holds.
  struct Look {
    uint64_t cpu_us = 0, memory_bytes = 0;
    uint32_t tasks = 0;
  };
  Look look();
  // CPU time of all its processes, where no cgroup counts it. Costs a reading of /proc.
  uint64_t cpu_without_cgroup();
  // Nobody but init and the runner is left.
  bool is_alone(Threads threads);
  // The program ends here, and its jail does not: what its processes have used is read from them.
  void count_living();

  // The program has ended: fills in all but wall_ms, and what the kernel's counters prove.
  void end(const std::optional<InitReport>& report, JailUsage& usage, Evidence& evidence);

 private:
  Jail& jail_;
  Program program_;
  CgroupUsage before_;
  uint64_t cpu_before_us_ = 0, memory_before_ = 0, granted_ = 0;
  uint64_t memory_seen_ = 0;  // the most, by looks
  uint32_t tasks_seen_ = 0;
  std::optional<uint64_t> cpu_now_us_;  // of a jail that lives at the end, without a cgroup
  uint64_t peak_now_ = 0;
};

}  // namespace jail
