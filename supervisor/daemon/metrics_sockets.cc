// The daemon's metrics: a socket that systemd passed, or one that main.cc made for --metrics.
#include <ctime>

#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/metrics/exposition.h"

Result<> DaemonParts::open_metrics() {
  auto answer = [this,
                 started = static_cast<int64_t>(::time(nullptr))](const http::HttpRequest& asked) -> http::Response {
    const Doing doing(LoopWork::metrics);
    if (asked.path != "/" && asked.path != "/metrics") return http::refusal("404 Not Found", "GET /metrics");
    const metrics::DaemonNumbers numbers{started, server_.unread()->bytes(), state_disk_.trouble().has_value(),
                                         loop_.busy_time().longest(),
                                         !prepared_.configuration.degraded() && !reload_failed_};
    return {"200 OK", metrics::kContentType, metrics::exposition(executions_, &pool_, spans_queue(), numbers), {}};
  };
  for (Fd& socket : std::exchange(prepared_.passed.metrics, {})) {
    TRY(auto endpoint, http::Endpoint::open(loop_, std::move(socket), answer));
    metrics_.push_back(std::move(endpoint));
  }
  return {};
}
