#include "supervisor/cluster/link/user_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace cluster {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{100};  // after accept() failed

bool is_of(const Fd& client, const std::set<uid_t>& users) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && users.contains(peer.uid);
}

}  // namespace

Result<AsyncFd> watch_listening(Loop& loop, Fd socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "fcntl");
  return AsyncFd::adopt(loop, std::move(socket));
}

Task<> accept_users(Loop& loop, AsyncFd& socket, const std::set<uid_t>& users, std::function<void(Fd)> take) {
  for (;;) {
    co_await socket.readable();
    Fd client(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) {
      const int error = errno;
      if (error != EAGAIN && error != EINTR && error != ECONNABORTED) co_await sleep_for(loop, kAcceptPause);
    } else if (is_of(client, users)) {
      take(std::move(client));
    }
  }
}

}  // namespace cluster
