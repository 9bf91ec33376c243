#include "supervisor/cluster/link/first_line.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cluster {

Task<Result<std::string>> read_first_line(Loop& loop, AsyncFd& socket, size_t most, std::chrono::milliseconds limit) {
  std::string line;
  bool is_late = false;
  const Deadline late(loop, limit, [&] {
    is_late = true;
    ::shutdown(socket.get(), SHUT_RDWR);  // wakes the task: it reads the end of the stream
  });
  std::array<char, 1024> seen;
  for (;;) {
    const ssize_t peeked = ::recv(socket.get(), seen.data(), seen.size(), MSG_PEEK | MSG_DONTWAIT);
    if (peeked < 0 && errno == EINTR) continue;
    if (peeked < 0 && errno == EAGAIN) {
      co_await socket.readable();
      continue;
    }
    if (peeked < 0) co_return fail_errno(errno, "read the first line", Code::unavailable);
    if (peeked == 0) co_return fail(Code::unavailable, is_late ? "sent no line in time" : "closed the connection");
    const auto* newline = static_cast<const char*>(std::memchr(seen.data(), '\n', static_cast<size_t>(peeked)));
    const size_t wanted = newline ? static_cast<size_t>(newline - seen.data()) + 1 : static_cast<size_t>(peeked);
    if (line.size() + wanted > most + 1) co_return fail(Code::invalid, "the first line is too long");
    const ssize_t got = ::recv(socket.get(), seen.data(), wanted, MSG_DONTWAIT);
    if (got <= 0) continue;
    line.append(seen.data(), static_cast<size_t>(got));
    if (line.back() != '\n') continue;
    line.pop_back();
    co_return line;
  }
}

}  // namespace cluster
