// Exposition: the daemon's metrics as OpenMetrics 1.0 text (https://github.com/OpenObservability/OpenMetrics).
// Source: executions::ExecutionRegistry and jail::Pool, read by executions::take_statistics(); traces::Queue.
// Used by: supervisor/daemon/metrics_sockets.cc.
#pragma once
#include <cstdint>
#include <string>

#include "jail/pool/pool.h"
#include "supervisor/base/busy_time.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/operations/metrics/fleet.h"
#include "supervisor/records/traces/queue.h"

namespace metrics {

inline constexpr char kContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Numbers of the daemon itself.
struct DaemonNumbers {
  int64_t started = 0;        // in seconds since 1970
  uint64_t unread_bytes = 0;  // bytes of answers that clients have not read, over all connections
  bool state_disk_failing = false;
  int64_t clock_jump_s = 0;  // wall clock minus elapsed time, in seconds; 0: it is near (base/elapsed_clock.h)
  BusyTime::Turn longest_turn;
  bool configuration_ok = true;    // the files are in force, and the last reload succeeded
  uint64_t missing_listeners = 0;  // that the configuration names, and the daemon does without
  FleetNumbers fleet;
};
// `pool` is nullptr before the daemon has made its pool, `spans` is nullptr if no spans are recorded.
std::string exposition(const executions::ExecutionRegistry& executions, const jail::Pool* pool,
                       const traces::Queue* spans, const DaemonNumbers& daemon);

}  // namespace metrics
