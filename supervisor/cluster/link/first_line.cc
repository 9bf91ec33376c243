#include "supervisor/cluster/link/first_line.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cluster {

Task<Result<std::string>> read_first_line(Loop& loop, AsyncFd& socket, size_t max, std::chrono::milliseconds limit) {
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
    const size_t requested = newline ? static_cast<size_t>(newline - seen.data()) + 1 : static_cast<size_t>(peeked);
    if (line.size() + requested > max + 1) co_return fail(Code::invalid, "the first line is too long");
    const ssize_t got = ::recv(socket.get(), seen.data(), requested, MSG_DONTWAIT);
    if (got <= 0) continue;
    line.append(seen.data(), static_cast<size_t>(got));
    if (line.back() != '\n') continue;
    line.pop_back();
    co_return line;
  }
}

Task<Result<std::string>> read_exactly(AsyncFd& socket, size_t count) {
  std::string bytes(count, '\0');
  for (size_t have = 0; have < count;) {
    const ssize_t got = ::recv(socket.get(), bytes.data() + have, count - have, MSG_DONTWAIT);
    if (got > 0) {
      have += static_cast<size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      co_await socket.readable();
    } else if (got == 0 || errno != EINTR) {
      co_return fail(Code::unavailable, "closed the connection");
    }
  }
  co_return bytes;
}

Task<bool> send_all(AsyncFd& socket, std::string bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(socket.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<size_t>(sent);
    } else if (sent < 0 && errno == EAGAIN) {
      co_await socket.writable();
    } else if (sent == 0 || errno != EINTR) {
      co_return false;
    }
  }
  co_return true;
}

}  // namespace cluster
