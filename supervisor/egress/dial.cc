#include "supervisor/egress/dial.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace egress {
namespace {

struct SocketPlace {
  sockaddr_storage address{};
  socklen_t size = 0;
};

SocketPlace place_of(const std::string& address, uint16_t port) {
  SocketPlace place;
  auto* four = reinterpret_cast<sockaddr_in*>(&place.address);
  auto* six = reinterpret_cast<sockaddr_in6*>(&place.address);
  if (::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    place.size = sizeof *four;
  } else if (::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    place.size = sizeof *six;
  }
  return place;
}

// Waits until the connection is made, or has failed.
Task<int> connected(AsyncFd& socket) {
  co_await socket.writable();
  int err = 0;
  socklen_t size = sizeof err;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &err, &size);
  co_return err;
}

Task<Result<AsyncFd>> dial_one(Loop& loop, const std::string& address, uint16_t port, std::chrono::milliseconds limit) {
  const SocketPlace place = place_of(address, port);
  Fd made(::socket(place.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) co_return fail_errno(errno, "socket", Code::unavailable);
  const int at_once = 1;
  (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  const bool is_begun = ::connect(made.get(), reinterpret_cast<const sockaddr*>(&place.address), place.size) == 0;
  if (!is_begun && errno != EINPROGRESS)
    co_return fail_errno(errno, fmt::format("connect to {} port {}", address, port), Code::unavailable);
  CO_TRY(AsyncFd socket, AsyncFd::adopt(loop, std::move(made)));
  bool is_late = false;
  // A shutdown makes a connecting socket writable, with an error.
  const Deadline deadline(loop, limit, [&is_late, fd = socket.get()] {
    is_late = true;
    ::shutdown(fd, SHUT_RDWR);
  });
  const int err = co_await connected(socket);
  if (is_late || err) {
    co_return fail_errno(is_late ? ETIMEDOUT : err, fmt::format("connect to {} port {}", address, port),
                         Code::unavailable);
  }
  co_return socket;
}

}  // namespace

Task<Result<AsyncFd>> dial(Loop& loop, std::vector<std::string> addresses, uint16_t port,
                           std::chrono::milliseconds limit) {
  const auto part = limit / static_cast<int>(addresses.size());
  Error last;
  for (const std::string& address : addresses) {
    auto socket = co_await dial_one(loop, address, port, part);
    if (socket) co_return socket;
    last = socket.error();
  }
  co_return tl::unexpected<Error>(std::move(last));
}

}  // namespace egress
