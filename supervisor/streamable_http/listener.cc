#include "supervisor/streamable_http/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "supervisor/base/loopback.h"

namespace streamable_http {
namespace {

constexpr int kAcceptsPerTurn = 16;
constexpr std::chrono::milliseconds kPause{100};  // after accept4(2) failed

bool is_listening_tcp(int fd) {
  int domain = 0, listens = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || (domain != AF_INET && domain != AF_INET6))
    return false;
  size = sizeof listens;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 1;
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
    for (int i = 0; last == Accept::one && i < kAcceptsPerTurn; i++) last = accept_one();
    if (last == Accept::failed) co_await sleep_for(loop_, kPause);
  }
}

HttpListener::Accept HttpListener::accept_one() {
  Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) {
    if (errno == EINTR || errno == ECONNABORTED) return Accept::one;
    return errno == EAGAIN || errno == EWOULDBLOCK ? Accept::none_waits : Accept::failed;
  }
  const int on = 1;
  (void)::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  endpoint_.serve_tcp(std::move(client), authenticator_, address_);
  return Accept::one;
}

}  // namespace streamable_http
