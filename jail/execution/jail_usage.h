// JailUsage: what one program used of its jail. LeftUsage: what it leaves there.
// Source: jail/execution/meter.h. Used by: reports (execution.h), and the registry of executions. No errors.
#pragma once
#include <cstdint>
#include <optional>

namespace jail {

struct JailUsage {
  double wall_ms = 0;  // from the moment the interpreter had the code
  // Empty: not known. No cgroup counted it, and the jail was killed before its init could report.
  std::optional<double> cpu_ms;
  uint64_t memory_peak_bytes = 0;  // 0: not known. Without a cgroup: includes the interpreter's own memory
  uint32_t processes_peak = 0;     // 0: unknown
};

// What the processes of a session hold after a program.
struct LeftUsage {
  uint64_t memory_bytes = 0;
  uint64_t tree_cpu_us = 0;  // TreeUsage::cpu_us; 0 with a cgroup
};

}  // namespace jail
