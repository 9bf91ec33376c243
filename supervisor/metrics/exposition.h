// What is measured, as OpenMetrics 1.0 text (https://github.com/OpenObservability/OpenMetrics).
// Source: tools::Live and jail::Pool, by way of tools::take_statistics(); traces::Queue. Served by: daemon_metrics.cc.
#pragma once
#include <cstdint>
#include <string>

#include "jail/pool.h"
#include "supervisor/tools/live.h"
#include "supervisor/traces/queue.h"

namespace metrics {

inline constexpr char kContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// `pool` may be nullptr, before there is one, `spans` where none are recorded. `started`: of the daemon, in seconds
// since 1970.
std::string exposition(const tools::Live& live, const jail::Pool* pool, const traces::Queue* spans, int64_t started);

}  // namespace metrics
