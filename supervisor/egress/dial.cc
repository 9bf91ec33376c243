#include "supervisor/egress/dial.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace egress {
namespace {

struct SocketLocation {
  sockaddr_storage address{};
  socklen_t size = 0;
};

SocketLocation location_of(const std::string& address, uint16_t port) {
  SocketLocation location;
  auto* four = reinterpret_cast<sockaddr_in*>(&location.address);
  auto* six = reinterpret_cast<sockaddr_in6*>(&location.address);
  if (::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    location.size = sizeof *four;
  } else if (::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    location.size = sizeof *six;
  }
  return location;
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
  const SocketLocation location = location_of(address, port);
  Fd created(::socket(location.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!created) co_return fail_errno(errno, "socket", Code::unavailable);
  const int at_once = 1;
  (void)::setsockopt(created.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  const bool is_started =
      ::connect(created.get(), reinterpret_cast<const sockaddr*>(&location.address), location.size) == 0;
  if (!is_started && errno != EINPROGRESS)
    co_return fail_errno(errno, fmt::format("connect to {} port {}", address, port), Code::unavailable);
  CO_TRY(AsyncFd socket, AsyncFd::adopt(loop, std::move(created)));
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
