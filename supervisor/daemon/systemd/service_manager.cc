#include "supervisor/daemon/systemd/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "supervisor/base/log.h"
#include "supervisor/base/loopback.h"

namespace {

// A client's socket and its record have the same name.
void sort_in(std::vector<StoredConnection>& connections, std::string name, Fd fd) {
  auto it = std::find_if(connections.begin(), connections.end(), [&](const auto& item) { return item.name == name; });
  if (it == connections.end()) it = connections.insert(it, StoredConnection{std::move(name), {}, {}});
  (sd_is_socket(fd.get(), AF_UNIX, SOCK_STREAM, /* listening */ 0) > 0 ? it->socket : it->record) = std::move(fd);
}

}  // namespace

Result<ServiceManager::SocketUse> ServiceManager::use_of(std::string_view name) {
  if (name == "metrics" || name == "warder-metrics.socket") return SocketUse::metrics;
  if (name == "http" || name == "warder-http.socket") return SocketUse::http;
  if (name == "tenant-metrics") return SocketUse::tenant_metrics;
  if (name == "node") return SocketUse::node;
  if (name == "mcp" || name == "unknown" || name.ends_with(".socket")) return SocketUse::mcp;
  return fail(Code::invalid, fmt::format("'{}' is not the name of a socket that warderd serves", printable(name, 64)),
              "write FileDescriptorName=mcp, http, metrics, tenant-metrics or node into its socket unit");
}

Result<ServiceManager::Passed> ServiceManager::take_descriptors() {
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(/* unset_environment */ 1, &names);
  if (count < 0) return fail_errno(-count, "LISTEN_FDS", Code::invalid);
  Passed passed;
  std::vector<std::pair<std::string, Fd>> all;
  for (int i = 0; i < count; i++) {
    all.emplace_back(names[i], Fd(SD_LISTEN_FDS_START + i));
    ::free(names[i]);
  }
  ::free(names);
  for (auto& [name, fd] : all) {
    if (FdStore::number_in(name)) {
      sort_in(passed.connections, name, std::move(fd));
      continue;
    }
    auto use = use_of(name);
    if (!use)
      return tl::unexpected<Error>(std::move(use).error().within(fmt::format("descriptor {} of LISTEN_FDS", fd.get())));
    if (*use == SocketUse::http) {
      if (!is_listening_tcp(fd.get()))
        return fail(Code::invalid, fmt::format("descriptor {} of LISTEN_FDS is not a listening TCP socket", fd.get()),
                    "check ListenStream= of warder-http.socket; the socket of warder.socket takes HTTP, too");
      passed.http.push_back(std::move(fd));
      continue;
    }
    if (*use != SocketUse::mcp && is_listening_tcp(fd.get())) {
      if (is_loopback_socket(fd.get())) {
        (*use == SocketUse::metrics ? passed.metrics : passed.tenant_metrics).push_back(std::move(fd));
      } else {
        log_error(
            "metrics are not served on {}: other machines could read them; write ListenStream=127.0.0.1:9460 into the "
            "socket unit, and put a proxy with authentication before it",
            bound_address(fd.get()));
      }
      continue;
    }
    if (sd_is_socket(fd.get(), AF_UNIX, SOCK_STREAM, /* listening */ 1) <= 0)
      return fail(Code::invalid,
                  fmt::format("descriptor {} of LISTEN_FDS is not a listening Unix stream socket", fd.get()),
                  "check ListenStream= of warder.socket");
    (*use == SocketUse::mcp       ? passed.sockets
     : *use == SocketUse::node    ? passed.node
     : *use == SocketUse::metrics ? passed.metrics
                                  : passed.tenant_metrics)
        .push_back(std::move(fd));
  }
  return passed;
}

void ServiceManager::ready(const std::string& status) {
  sd_notify(0, fmt::format("READY=1\nSTATUS={}", status).c_str());
}
void ServiceManager::status(const std::string& text) { sd_notify(0, fmt::format("STATUS={}", text).c_str()); }
void ServiceManager::stopping() { sd_notify(0, "STOPPING=1"); }

void ServiceManager::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  // Type=notify-reload (systemd 253) wants the time; older versions of systemd ignore it.
  sd_notify(0, fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                           static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000)
                   .c_str());
}

void ServiceManager::start_watchdog(Loop& loop) {
  uint64_t limit_us = 0;
  if (sd_watchdog_enabled(0, &limit_us) <= 0) return;
  feeding_ = std::make_unique<Scope>(loop);
  feeding_->spawn(feed(loop, std::chrono::milliseconds(limit_us / 2000)));
}

Task<> ServiceManager::feed(Loop& loop, std::chrono::milliseconds every) {
  for (;;) {
    sd_notify(0, "WATCHDOG=1");
    co_await sleep_for(loop, every);
  }
}
