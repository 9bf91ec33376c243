// Execution metrics: the metric families of executions and of waiting jails. Source: ExecutionRegistry and jail::Pool,
// read by take_statistics(). Used by: part.cc. No errors.
#pragma once
#include "jail/pool/pool.h"
#include "supervisor/executions/execution_registry.h"

namespace metrics {
class OpenMetricsText;
}

namespace executions {

// `pool`: nullptr until the daemon has a pool.
void write_execution_metrics(metrics::OpenMetricsText& text, const ExecutionRegistry& executions,
                             const jail::Pool* pool);

}  // namespace executions
