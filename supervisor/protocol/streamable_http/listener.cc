#include "supervisor/protocol/streamable_http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "supervisor/base/loopback.h"

namespace streamable_http {
namespace {

constexpr int kAcceptsPerTurn = 16;
constexpr std::chrono::milliseconds kPause{100};  // after accept4(2) failed

// The address without the port. Of IPv6 the network of 64 bits, because one client has all addresses in it.
std::string address_text(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    (void)::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text, sizeof text);
    return text;
  }
  if (from.ss_family != AF_INET6) return {};
  in6_addr address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    (void)::inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof text);
    return text;
  }
  if (IN6_IS_ADDR_LOOPBACK(&address)) return "::1";
  std::fill(address.s6_addr + 8, address.s6_addr + 16, uint8_t{0});
  (void)::inet_ntop(AF_INET6, &address, text, sizeof text);
  return std::string(text) + "/64";
}

}  // namespace

Result<std::unique_ptr<HttpListener>> HttpListener::open(Loop& loop, HttpEndpoint& endpoint, Fd socket,
                                                         std::shared_ptr<const Authenticator> authenticator) {
  if (!is_listening_tcp(socket.get()))
    return fail(Code::invalid, fmt::format("descriptor {} is not a listening TCP socket", socket.get()));
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "fcntl");
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<HttpListener> listener(
      new HttpListener(loop, endpoint, std::move(watched), std::move(authenticator)));
  listener->accepting_.emplace(listener->accept_all());
  listener->accepting_->resume();
  return listener;
}

HttpListener::HttpListener(Loop& loop, HttpEndpoint& endpoint, AsyncFd socket,
                           std::shared_ptr<const Authenticator> authenticator)
    : loop_(loop),
      endpoint_(endpoint),
      socket_(std::move(socket)),
      authenticator_(std::move(authenticator)),
      address_(bound_address(socket_.get())) {}

void HttpListener::stop() {
  accepting_.reset();
  socket_.close();
}

Task<> HttpListener::accept_all() {
  for (;;) {
    co_await socket_.readable();
    Accept last = Accept::one;
    for (int i = 0; last == Accept::one && i < kAcceptsPerTurn; i++) last = accept_client();
    if (last == Accept::failed) co_await sleep_for(loop_, kPause);
  }
}

HttpListener::Accept HttpListener::accept_client() {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  Fd client(::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) {
    if (errno == EINTR || errno == ECONNABORTED) return Accept::one;
    return errno == EAGAIN || errno == EWOULDBLOCK ? Accept::none_waits : Accept::failed;
  }
  const int on = 1;
  (void)::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  endpoint_.serve_tcp(std::move(client), authenticator_, address_, address_text(from));
  return Accept::one;
}

}  // namespace streamable_http
