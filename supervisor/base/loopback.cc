#include "supervisor/base/loopback.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>

#include "supervisor/base/log.h"

namespace {

constexpr int kWaitingConnections = 16;  // listen(2)
constexpr char kExample[] =
    "write 127.0.0.1:PORT or [::1]:PORT, for example 127.0.0.1:9460; other machines get metrics "
    "from a proxy with authentication; a socket file has a slash: ./metrics.sock";

bool is_loopback_v4(uint32_t host_order) { return host_order >> 24 == 127; }

// The address without its port: "127.0.0.1", "::1". `port` is empty if there is none.
std::string_view split_port(std::string_view text, std::string_view& port) {
  const size_t bracket = text.find(']');
  const bool is_v6 = text.starts_with('[') && bracket != text.npos;
  const size_t colon = text.find(':', is_v6 ? bracket : 0);
  port = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  const std::string_view address = text.substr(0, colon);
  return is_v6 ? text.substr(1, bracket - 1) : address;
}

std::optional<uint32_t> parse_v4(std::string_view text) {
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return {};
  return ntohl(address.s_addr);
}

}  // namespace

std::string LoopbackAddress::text() const {
  if (is_v6) return fmt::format("[::1]:{}", port);
  return fmt::format("{}.{}.{}.{}:{}", v4 >> 24, v4 >> 16 & 255, v4 >> 8 & 255, v4 & 255, port);
}

bool is_tcp_address(std::string_view setting) {
  return setting.find('/') == setting.npos && setting.find(':') != setting.npos;
}

Result<LoopbackAddress> parse_loopback(std::string_view text) {
  std::string_view port;
  const std::string_view host = split_port(text, port);
  LoopbackAddress address;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535)
    return fail(Code::invalid, fmt::format("'{}' has no port from 1 to 65535", printable(text, 64)), kExample);
  address.port = static_cast<uint16_t>(number);
  if (text.starts_with("[::1]:")) {
    address.is_v6 = true;
    return address;
  }
  const auto v4 = parse_v4(host);
  if (!v4 || !is_loopback_v4(*v4))
    return fail(Code::invalid, fmt::format("'{}' is not a loopback address", printable(text, 64)), kExample);
  address.v4 = *v4;
  return address;
}

Result<Fd> listen_on(const LoopbackAddress& address) {
  Fd socket(::socket(address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(address.v4);
  v4.sin_port = htons(address.port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(address.port);
  const auto* where = address.is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  if (::bind(socket.get(), where, address.is_v6 ? sizeof v6 : sizeof v4) < 0) {
    if (errno == EADDRINUSE)
      return fail(Code::unavailable, fmt::format("another process listens on {}", address.text()),
                  "stop that process, or choose another port");
    return fail_errno(errno, "bind " + address.text());
  }
  if (::listen(socket.get(), kWaitingConnections) < 0) return fail_errno(errno, "listen on " + address.text());
  return socket;
}

bool is_listening_tcp(int fd) {
  int domain = 0, listens = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || (domain != AF_INET && domain != AF_INET6))
    return false;
  size = sizeof listens;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 1;
}

bool is_loopback_socket(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) < 0) return false;
  if (bound.ss_family == AF_INET)
    return is_loopback_v4(ntohl(reinterpret_cast<const sockaddr_in*>(&bound)->sin_addr.s_addr));
  if (bound.ss_family != AF_INET6) return false;
  const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address);
}

std::string bound_address(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  char text[INET6_ADDRSTRLEN] = "an unknown address";
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) < 0) return text;
  if (bound.ss_family == AF_INET) {
    const auto& v4 = *reinterpret_cast<const sockaddr_in*>(&bound);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return fmt::format("{}:{}", text, ntohs(v4.sin_port));
  }
  const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&bound);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return fmt::format("[{}]:{}", text, ntohs(v6.sin6_port));
}

bool is_loopback_host(std::string_view host) {
  constexpr size_t kPortDigits = 5;
  if (const size_t colon = host.rfind(':'); colon != host.npos && !host.ends_with(']')) {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || port.size() > kPortDigits || port.find_first_not_of("0123456789") != port.npos) return false;
    host = host.substr(0, colon);
  }
  if (host == "localhost" || host == "[::1]") return true;
  const auto v4 = parse_v4(host);
  return v4 && is_loopback_v4(*v4);
}
