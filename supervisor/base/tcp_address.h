// TcpAddress: an address and a port that a server listens on, as numbers: "127.0.0.1:9470", "[::]:9470".
// Source: configuration. Used by: supervisor/daemon/configuration, main.cc. Errors: invalid, naming the text and the
// remedy.
#pragma once
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

struct TcpAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
  std::string text;          // as it was written
  bool is_loopback = false;  // only this machine reaches it
};

// Names are not looked up. Errors: any text that is not an address with a port from 1 to 65535.
Result<TcpAddress> parse_tcp_address(std::string_view text);
// A socket that is bound, and does not listen. Errors: unavailable: the port is in use, or this machine does not have
// the address; and those of socket(2), bind(2).
Result<Fd> bind_to(const TcpAddress& address);
// A listening socket. Errors: as above, and those of listen(2).
Result<Fd> listen_on(const TcpAddress& address);
