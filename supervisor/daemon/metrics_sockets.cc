#include "supervisor/daemon/metrics_sockets.h"

#include <sys/socket.h>

#include <ctime>

#include "supervisor/base/log.h"
#include "supervisor/base/loopback.h"
#include "supervisor/daemon/configuration/trial.h"
#include "supervisor/operations/metrics/daemon_numbers.h"
#include "supervisor/protocol/mcp/listener.h"

namespace {

// Owner, group and mode of a Unix socket's file decide who reads it. Every user of the machine can connect to TCP.
bool is_unix_socket(const Fd& socket) {
  int family = 0;
  socklen_t size = sizeof family;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_UNIX;
}

}  // namespace

http::Response MetricsSockets::answer(const http::HttpRequest& request, Readers readers) const {
  const NamedWork named_work(LoopWork::metrics);
  if (readers.are_tcp && !is_loopback_host(request.host))
    return http::refusal("403 Forbidden", "name this server by its address: http://127.0.0.1:PORT/metrics");
  if (request.path != "/" && request.path != "/metrics") return http::refusal("404 Not Found", "GET /metrics");
  metrics::OpenMetricsText text;
  write_own_metrics(text);
  for (const MetricSource* part : parts_.all<MetricSource>()) part->write_metrics(text, {readers.see_names});
  return {"200 OK", metrics::kContentType, std::move(text).end(), {}};
}

void MetricsSockets::write_own_metrics(metrics::OpenMetricsText& text) const {
  metrics::DaemonNumbers numbers;
  numbers.started = started_s_;
  numbers.longest_turn = loop_.busy_time().longest();
  numbers.configuration_ok = !prepared_.configuration.degraded() && reload_.problem.empty();
  numbers.missing_listeners = prepared_.configuration.notes.shortfalls.size();
  metrics::write_daemon(text, numbers);
}

Result<> MetricsSockets::open_socket(Fd socket, Readers readers) {
  TRY(auto endpoint, http::Endpoint::open(loop_, std::move(socket), [this, readers](const http::HttpRequest& request) {
        return answer(request, readers);
      }));
  endpoints_.push_back(std::move(endpoint));
  return {};
}

std::vector<configuration::Shortfall> MetricsSockets::open_missing(std::vector<configuration::Shortfall> missing) {
  const std::string& name = prepared_.options.metrics;
  configuration::HeldSockets& sockets = prepared_.listening;
  if (sockets.metrics_passed || name.empty() || sockets.opened.contains(name) ||
      configuration::has_key(missing, "metrics"))
    return missing;
  const auto opened = [&]() -> Result<> {
    if (is_tcp_address(name)) {
      TRY(const LoopbackAddress address, parse_loopback(name));
      TRY(Fd socket, listen_on(address));
      return open_socket(std::move(socket), {.are_tcp = true, .see_names = false});
    }
    TRY(Fd socket, mcp::listen_at(name, 0660));
    return open_socket(std::move(socket), {.are_tcp = false, .see_names = true});
  }();
  const auto& in_force = prepared_.configuration;
  if (opened) {
    log_notice("metrics: listening on {}", name);
    sockets.opened.insert(name);
  } else {
    missing.push_back({"metrics", configuration::text_of_start(in_force.document, in_force.invocation.flags, "metrics",
                                                               opened.error())});
  }
  return missing;
}

Result<> MetricsSockets::serve() {
  started_s_ = static_cast<int64_t>(::time(nullptr));
  for (Fd& socket : std::exchange(prepared_.passed.metrics, {})) {
    const bool is_tcp = !is_unix_socket(socket);
    CHECKED(open_socket(std::move(socket), {.are_tcp = is_tcp, .see_names = !is_tcp}));
  }
  for (Fd& socket : std::exchange(prepared_.passed.tenant_metrics, {})) {
    const bool is_tcp = !is_unix_socket(socket);
    CHECKED(open_socket(std::move(socket), {.are_tcp = is_tcp, .see_names = true}));
  }
  return {};
}

Result<std::unique_ptr<MetricsSockets>> MetricsSockets::open(Parts& parts, Loop& loop, Prepared& prepared,
                                                             ReloadState& reload) {
  return std::make_unique<MetricsSockets>(parts, loop, prepared, reload);
}

PartEntry metrics_sockets_part() { return part_entry_of("metrics sockets", MetricsSockets::open); }
