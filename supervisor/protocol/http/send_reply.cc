#include "supervisor/protocol/http/send_reply.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace http {

Task<> send_reply(AsyncFd& client, std::string_view bytes, size_t max_unread) {
  for (std::string_view remaining = bytes; !remaining.empty();) {
    const ssize_t sent = ::send(client.get(), remaining.data(), remaining.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      remaining.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
      co_await client.writable();
    } else if (sent == 0 || errno != EINTR) {
      co_return;
    }
  }
  ::shutdown(client.get(), SHUT_WR);
  std::array<char, 4096> dropped;
  for (size_t more = max_unread; more > 0;) {
    const ssize_t got = ::recv(client.get(), dropped.data(), std::min(more, dropped.size()), MSG_DONTWAIT);
    if (got > 0) {
      more -= static_cast<size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      co_await client.readable();
    } else if (got == 0 || errno != EINTR) {
      co_return;
    }
  }
}

}  // namespace http
