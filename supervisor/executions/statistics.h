// Statistics: numbers about the whole daemon for administrators, read from memory in some microseconds.
// Source: ExecutionRegistry, jail::Pool. Used by: supervisor/operations/bus/bus_objects.cc,
// execution_metrics.cc. No errors.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "jail/pool/pool.h"
#include "supervisor/executions/execution_registry.h"

namespace executions {

using Counts = std::map<std::string, uint64_t>;

struct Statistics {
  uint32_t waiting = 0;   // executions that wait for a place
  uint32_t starting = 0;  // executions that wait for a jail
  uint32_t running = 0;
  uint32_t frozen = 0;
  uint32_t waiting_jails = 0;
  uint64_t executions = 0;  // executions that ended since the daemon started
  Counts outcomes, refusals, starts;
  // `of`: the number of executions measured, the newest; if it is not 0: p50, p90, p99, max.
  Counts answer_usec, wall_usec;
  uint64_t cpu_usage_usec = 0;  // of ended and running executions
  uint64_t cpu_unknown = 0;     // executions whose CPU time is not known, so that cpu_usage_usec does not include it
  uint64_t memory_bytes = 0;    // held now by executions and waiting jails
  Counts ledger;                // bytes, and estimated tokens
  std::map<std::string, Counts> languages, pool;

  bool operator==(const Statistics&) const = default;
};

// `pool`: nullptr until the daemon has a pool.
Statistics take_statistics(const ExecutionRegistry& executions, const jail::Pool* pool);

}  // namespace executions
