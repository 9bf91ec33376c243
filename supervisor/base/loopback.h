// Loopback addresses: TCP sockets that only this machine reaches, 127.0.0.0/8 and ::1.
// Source: --metrics, and sockets that systemd passes. Used by: configuration/reader.cc, main.cc,
// supervisor/daemon/systemd/, supervisor/daemon/metrics_sockets.cc. Errors: invalid, naming the address and the remedy.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

struct LoopbackAddress {
  bool is_v6 = false;
  uint32_t v4 = 0;  // in host order
  uint16_t port = 0;
  std::string text() const;  // "127.0.0.1:9460", "[::1]:9460"
};

// Whether a setting that may be a path is meant as an address: it has a colon and no slash.
bool is_tcp_address(std::string_view setting);
// Reads "127.0.0.1:9460" or "[::1]:9460". Names are not looked up. Errors: any other text.
Result<LoopbackAddress> parse_loopback(std::string_view text);
// A listening socket. Errors: unavailable: the port is in use; and those of socket(2), bind(2), listen(2).
Result<Fd> listen_on(const LoopbackAddress& address);

// Whether the descriptor is a listening TCP socket.
bool is_listening_tcp(int fd);
// Whether the TCP socket is bound to a loopback address.
bool is_loopback_socket(int fd);
// "0.0.0.0:9460", for messages.
std::string bound_address(int fd);
// Whether the Host header of a request, or the host of a URL with or without its port, names a loopback address or
// "localhost": "127.0.0.1:9460", "[::1]". An IPv4 address has four numbers, and a port has digits alone. A page of
// another site, which a browser was led to by a false DNS entry, has another name there.
bool is_loopback_host(std::string_view host);
