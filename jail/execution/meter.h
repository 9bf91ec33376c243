// Meter: what one program uses of its jail. It does not count what the interpreter used to start, nor what earlier
// programs of the session used and still hold.
// Source: the jail's cgroup; without a cgroup, /proc (process_tree.h) and init's report of the runner's end. Used by:
// jail/execution/running_execution.cc, jail/execution/wall_clock.h.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "jail/execution/jail_usage.h"
#include "jail/shared_values.h"
#include "jail/spec.h"
#include "jail/usage/cgroup.h"
#include "jail/usage/process_tree.h"
#include "jail/usage/tree_reader.h"
#include "policies/limits.h"
#include "supervisor/base/task.h"

namespace jail {

struct Evidence;
class Jail;
struct InitReport;

class Meter {
 public:
  enum class Program { first, later };  // the program's place in its jail
  // `values`: pages that the program shares and that are charged elsewhere; nullptr: absent.
  Meter(Jail& jail, TreeReader& trees, Program program, std::shared_ptr<const SharedValues> values = nullptr)
      : jail_(jail), trees_(trees), program_(program), values_(std::move(values)) {}

  // The program begins. For the jail's first program this sets the cgroup's limits, plus the memory that the jail holds
  // already.
  // Errors: internal, a limit that the kernel refused.
  Task<Result<>> begin(policies::Limits limits, Start start);
  // Bytes that the jail already held at dispatch; memory.max is the limit plus this. 0: a cold start, a later program,
  // or no cgroup.
  uint64_t granted_bytes() const { return granted_; }

  // Call this regularly. cpu_us: CPU time that the program has used so far; empty without a cgroup. memory_bytes,
  // tasks: what the jail holds now; 0: not known.
  struct MeterReading {
    std::optional<uint64_t> cpu_us;
    uint64_t memory_bytes = 0;
    uint32_t tasks = 0;
    TreeUsage tree;  // not read with a cgroup
  };
  Task<MeterReading> inspect(uint64_t memory_limit_bytes = UINT64_MAX);
  // True if only init and the runner are left.
  bool is_alone(Threads threads);
  // For a program that ends while its jail continues: reads the usage of its processes now. Returns what they
  // hold.
  Task<LeftUsage> count_living();

  // The program has ended: fills in all usage but wall_ms, and the evidence of the kernel's counters.
  void end(const std::optional<InitReport>& report, JailUsage& usage, Evidence& evidence);

 private:
  Jail& jail_;
  TreeReader& trees_;
  Program program_;
  ValuesApart values_;
  CgroupUsage before_;
  uint64_t cpu_before_us_ = 0, memory_before_ = 0, granted_ = 0;
  uint64_t memory_seen_ = 0;  // the most that inspect() has seen
  uint32_t tasks_seen_ = 0;
  std::optional<uint64_t> cpu_now_us_;  // set when a jail without a cgroup still lives at the end
  uint64_t peak_now_ = 0, shared_now_ = 0;
};

}  // namespace jail
