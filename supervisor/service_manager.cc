#include "supervisor/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

Result<std::vector<Fd>> ServiceManager::take_sockets() {
  int count = sd_listen_fds(/* unset_environment */ 1);
  if (count < 0) return fail_errno(-count, "LISTEN_FDS", Code::invalid);
  std::vector<Fd> sockets;
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; fd++) {
    sockets.emplace_back(fd);
    if (sd_is_socket(fd, AF_UNIX, SOCK_STREAM, /* listening */ 1) <= 0)
      return fail(Code::invalid, fmt::format("descriptor {} of LISTEN_FDS is not a listening Unix stream socket", fd),
                  "check ListenStream= of warder.socket");
  }
  return sockets;
}

void ServiceManager::ready(const std::string& status) {
  sd_notify(0, fmt::format("READY=1\nSTATUS={}", status).c_str());
}
void ServiceManager::status(const std::string& text) { sd_notify(0, fmt::format("STATUS={}", text).c_str()); }
void ServiceManager::stopping() { sd_notify(0, "STOPPING=1"); }

void ServiceManager::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  // Type=notify-reload (systemd 253) wants the time; older ones ignore it.
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
