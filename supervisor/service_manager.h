// The service manager's side: sockets it passes (sd_listen_fds(3)), readiness, status and watchdog (sd_notify(3)).
// Without a service manager every call does nothing.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"

class ServiceManager {
 public:
  // The listening Unix sockets that were passed, checked to be that. Errors: invalid when one is something else.
  static Result<std::vector<Fd>> take_sockets();

  void ready(const std::string& status);
  void status(const std::string& text);
  void reloading();
  void stopping();
  // Feeds the watchdog from the loop, at half its interval: a loop that hangs stops feeding.
  void start_watchdog(Loop& loop);

 private:
  Task<> feed(Loop& loop, std::chrono::milliseconds every);
  std::unique_ptr<Scope> feeding_;
};
