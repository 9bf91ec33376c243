// Statistics: what administrators are told about the daemon as a whole, taken from memory in some microseconds.
// Source: ExecutionRegistry, jail::Pool. Told by: supervisor/bus/manager.cc, supervisor/metrics/exposition.cc.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "jail/pool.h"
#include "supervisor/executions/execution_registry.h"

namespace executions {

using Counts = std::map<std::string, uint64_t>;

struct Statistics {
  uint32_t waiting = 0;   // for a place
  uint32_t starting = 0;  // for a jail
  uint32_t running = 0;
  uint32_t frozen = 0;
  uint32_t waiting_jails = 0;
  uint64_t executions = 0;  // that ended, since the daemon started
  Counts outcomes, refusals, starts;
  Counts answer_usec, wall_usec;  // p50, p90, p99, max of the newest `of`
  uint64_t cpu_usec = 0;          // of executions that ended, and of those that run
  uint64_t memory_bytes = 0;      // that executions and waiting jails hold now
  Counts ledger;                  // bytes, and tokens estimated from them
  std::map<std::string, Counts> languages, pool;

  bool operator==(const Statistics&) const = default;
};

// `pool` may be nullptr, before there is one.
Statistics take_statistics(const ExecutionRegistry& executions, const jail::Pool* pool);

}  // namespace executions
