// The service manager's side: sockets it passes (sd_listen_fds(3)), readiness, status and watchdog (sd_notify(3)).
// Without a service manager every call does nothing.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/fd_store.h"

class ServiceManager {
 public:
  struct Passed {
    std::vector<Fd> sockets;                    // listening Unix sockets, checked to be that
    std::vector<Fd> metrics;                    // the same, by the name "metrics"
    std::vector<StoredConnection> connections;  // that an earlier warderd left
  };
  // What was passed to us. Errors: invalid when something is neither.
  static Result<Passed> take_descriptors();

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
