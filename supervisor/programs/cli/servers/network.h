// The network of the installed service, for servers that are reached over HTTP: warder.service has only its own
// loopback (PrivateNetwork=). Used by: add.cc, import.cc.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace admin {

// The commands that give the service a network, with the reason. Empty: `url` needs no network (a Unix socket, or no
// systemd runs), or the drop-in exists.
std::string network_advice(const std::string& url);
// OpenedNetwork: the network that this command gave to the service. The destructor closes it again, unless keep() was
// called: without the new server, the service needs no network.
class OpenedNetwork {
 public:
  OpenedNetwork() = default;  // nothing to close
  // Writes the drop-in /etc/systemd/system/warder.service.d/network.conf and runs `systemctl daemon-reload` and
  // `try-restart`; each change is printed. A drop-in that exists stays as it is. Errors: denied: not root;
  // unavailable: no systemd runs, or it failed: the drop-in is removed again.
  static Result<OpenedNetwork> open();
  OpenedNetwork(OpenedNetwork&& other) noexcept;
  OpenedNetwork& operator=(OpenedNetwork&& other) noexcept;
  ~OpenedNetwork();
  void keep() { written_ = false; }

 private:
  bool written_ = false;
};

}  // namespace admin
