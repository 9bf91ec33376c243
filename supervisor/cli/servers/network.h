// The network of the installed service, for servers that are reached over HTTP: warder.service has none of its own
// (PrivateNetwork=). Used by: add.cc, import.cc.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace admin {

// The commands that give the service a network, with the reason. Empty: `url` needs none (a Unix socket, or no systemd
// runs), or the drop-in exists.
std::string network_advice(const std::string& url);
// Writes the drop-in /etc/systemd/system/warder.service.d/network.conf and runs `systemctl daemon-reload`; the network
// is there after a restart of the service, which is printed. Errors: denied: not root; exists already with another
// text.
Result<> open_service_network();

}  // namespace admin
