#include "supervisor/cluster/link/line_reader.h"

#include <sys/socket.h>

#include <cerrno>

namespace cluster {

Task<bool> read_lines(Loop& loop, AsyncFd& socket, size_t max,
                      std::function<bool(const LineSplitter::Item& line)> take) {
  LineSplitter lines(max);
  for (;;) {
    const auto space = lines.space();
    const ssize_t got = ::recv(socket.get(), space.data(), space.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await socket.readable();
      continue;
    }
    if (got <= 0) co_return false;
    lines.commit(static_cast<size_t>(got));
    while (const auto item = lines.next())
      if (!take(*item)) co_return true;
    co_await next_turn(loop);
  }
}

}  // namespace cluster
