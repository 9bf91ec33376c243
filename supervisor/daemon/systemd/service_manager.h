// ServiceManager: the connection to systemd. It takes the sockets that systemd passes (sd_listen_fds(3)), and reports
// readiness, status and the watchdog's keep-alive (sd_notify(3)). Without a service manager no call has an effect.
// Source: $LISTEN_FDS, $NOTIFY_SOCKET, $WATCHDOG_USEC. Used by: main.cc, supervisor/daemon/.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/daemon/systemd/fd_store.h"

class ServiceManager {
 public:
  // The use of a passed socket. Its name decides: FileDescriptorName= of its socket unit, systemd.socket(5).
  enum class SocketUse { mcp, http, metrics, tenant_metrics, node };
  // A socket unit without FileDescriptorName= passes the unit's file name: metrics for "warder-metrics.socket", http
  // for "warder-http.socket", mcp for all other units. "tenant-metrics" shows tenants by name to every reader. mcp also
  // for "unknown", the name of sd_listen_fds_with_names(3) where $LISTEN_FDNAMES is not set. Errors: invalid, no socket
  // has this name.
  static Result<SocketUse> use_of(std::string_view name);

  struct Passed {
    std::vector<Fd> sockets;                    // for mcp: listening Unix stream sockets; their type was checked
    std::vector<Fd> http;                       // MCP over HTTP: listening TCP sockets
    std::vector<Fd> metrics;                    // listening: Unix stream sockets, or TCP on a loopback address
    std::vector<Fd> tenant_metrics;             // the same; TCP, too, shows tenants by name
    std::vector<Fd> node;                       // for warder-node: listening Unix stream sockets
    std::vector<StoredConnection> connections;  // stored by an earlier warderd (fd_store.h)
  };
  // Takes the descriptors that systemd passed. A socket for metrics on an address that other machines reach is closed
  // and logged. Errors: those of use_of(); invalid, naming a descriptor that is neither a stored connection nor a
  // listening socket of the right kind.
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
