// DaemonNumbers: metrics of the daemon itself, beside those of its parts.
// Used by: supervisor/daemon/metrics_sockets.cc. No errors.
#pragma once
#include <cstdint>

#include "supervisor/base/busy_time.h"

namespace metrics {

class OpenMetricsText;

inline constexpr char kContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct DaemonNumbers {
  int64_t started = 0;  // in seconds since 1970
  BusyTime::Turn longest_turn;
  bool configuration_ok = true;    // the files are in force, and the last reload succeeded
  uint64_t missing_listeners = 0;  // that the configuration names, and the daemon does without
};
void write_daemon(OpenMetricsText& text, const DaemonNumbers& daemon);

}  // namespace metrics
