// ServiceManager: the connection to systemd. It takes the sockets that systemd passes (sd_listen_fds(3)), and reports
// readiness, status and the watchdog's keep-alive (sd_notify(3)). Without a service manager no call has an effect.
// Source: $LISTEN_FDS, $NOTIFY_SOCKET, $WATCHDOG_USEC. Used by: main.cc, supervisor/daemon/.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/systemd/fd_store.h"

class ServiceManager {
 public:
  struct Passed {
    std::vector<Fd> sockets;                    // listening Unix stream sockets; their type was checked
    std::vector<Fd> metrics;                    // the same, for sockets with the name "metrics"
    std::vector<StoredConnection> connections;  // stored by an earlier warderd (fd_store.h)
  };
  // Takes the descriptors that systemd passed. Errors: invalid, naming a descriptor that is neither a stored connection
  // nor a listening Unix stream socket.
  static Result<Passed> take_descriptors();

  void ready(const std::string& status);
  void status(const std::string& text);
  void reloading();
  void stopping();
  // Sends WATCHDOG=1 from the loop, at half of the watchdog's interval. A loop that hangs stops sending.
  void start_watchdog(Loop& loop);

 private:
  Task<> feed(Loop& loop, std::chrono::milliseconds every);
  std::unique_ptr<Scope> feeding_;
};
