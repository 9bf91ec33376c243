#include "supervisor/base/tcp_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>

#include "supervisor/base/log.h"

namespace {
constexpr int kWaitingClients = 1024;  // listen(2)
constexpr char kForm[] = "write ADDRESS:PORT, for example 127.0.0.1:9470 or [::1]:9470";
}  // namespace

Result<TcpAddress> parse_tcp_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string_view digits = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  std::string host(text.substr(0, colon));
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535)
    return fail(Code::invalid, fmt::format("'{}' has no port from 1 to 65535", printable(text, 64)), kForm);
  TcpAddress address;
  address.text = text;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.address);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(static_cast<uint16_t>(port));
      address.size = sizeof v6;
      address.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
      return address;
    }
  } else if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof v4;
    address.is_loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    return address;
  }
  return fail(Code::invalid, fmt::format("'{}' is not an address", printable(text, 64)), kForm);
}

Result<Fd> bind_to(const TcpAddress& address) {
  Fd socket(::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.address), address.size) < 0) {
    if (errno == EADDRINUSE)
      return fail(Code::unavailable, fmt::format("another process listens on {}", address.text),
                  "stop that process, or choose another port");
    if (errno == EADDRNOTAVAIL)
      return fail(Code::unavailable, fmt::format("this machine does not have the address of {}", address.text),
                  "name an address that `ip address` shows");
    return fail_errno(errno, "bind " + address.text);
  }
  return socket;
}

Result<Fd> listen_on(const TcpAddress& address) {
  TRY(Fd socket, bind_to(address));
  if (::listen(socket.get(), kWaitingClients) < 0) return fail_errno(errno, "listen on " + address.text);
  return socket;
}
