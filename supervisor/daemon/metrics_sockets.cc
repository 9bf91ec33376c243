// The daemon's metrics: a socket that systemd passed, or one that main.cc made for --metrics.
#include <ctime>

#include "supervisor/daemon/daemon.h"
#include "supervisor/metrics/exposition.h"

Result<> Daemon::open_metrics() {
  auto answer = [this,
                 started = static_cast<int64_t>(::time(nullptr))](const http::HttpRequest& asked) -> http::Response {
    const Doing doing(LoopWork::metrics);
    if (asked.path != "/" && asked.path != "/metrics") return http::refusal("404 Not Found", "GET /metrics");
    const metrics::DaemonNumbers numbers{started, server_ ? server_->unread()->bytes() : 0,
                                         state_disk_ && state_disk_->trouble(), loop_.busy_time().longest()};
    return {"200 OK",
            metrics::kContentType,
            metrics::exposition(executions_, pool_.get(), spans_ ? &spans_->queue() : nullptr, numbers),
            {}};
  };
  for (Fd& socket : std::exchange(prepared_.passed.metrics, {})) {
    TRY(auto endpoint, http::Endpoint::open(loop_, std::move(socket), answer));
    metrics_.push_back(std::move(endpoint));
  }
  return {};
}
