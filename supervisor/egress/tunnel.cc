#include "supervisor/egress/tunnel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace egress {
namespace {

constexpr size_t kPartBytes = 256 << 10;
constexpr size_t kTurnBytes = 2 << 20;  // after which other work of the loop gets its turn

// One buffer for all tunnels: it is full only between a read and the write after it, which never waits. Bytes that
// cannot be written at once get other memory.
std::vector<char>& part_buffer() {
  static std::vector<char> buffer(kPartBytes);
  return buffer;
}

Task<> carry_one_way(Loop& loop, AsyncFd& from, AsyncFd& to, ByteBudget& budget) {
  std::vector<char>& buffer = part_buffer();
  size_t in_this_turn = 0;
  for (;;) {
    const ssize_t got = ::recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await from.readable();
      in_this_turn = 0;
      continue;
    }
    if (got == 0) {
      ::shutdown(to.get(), SHUT_WR);
      co_return;
    }
    const bool may_pass = got > 0 && budget.take(static_cast<uint64_t>(got));
    const ssize_t sent =
        may_pass ? ::send(to.get(), buffer.data(), static_cast<size_t>(got), MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
    const bool is_broken = !may_pass || (sent < 0 && errno != EAGAIN && errno != EINTR);
    bool is_sent = !is_broken && sent == got;
    if (!is_broken && !is_sent) {
      const size_t begin = sent > 0 ? static_cast<size_t>(sent) : 0;
      const std::string rest(buffer.data() + begin, static_cast<size_t>(got) - begin);
      is_sent = co_await send_all(to, rest);
      in_this_turn = 0;
    }
    if (!is_sent) break;
    in_this_turn += static_cast<size_t>(got);
    if (in_this_turn < kTurnBytes) continue;
    in_this_turn = 0;
    co_await next_turn(loop);
  }
  ::shutdown(from.get(), SHUT_RDWR);
  ::shutdown(to.get(), SHUT_RDWR);
}

}  // namespace

bool ByteBudget::take(uint64_t bytes) {
  if (bytes > max - std::min(used, max)) {
    used = max;
    return false;
  }
  used += bytes;
  return true;
}

Task<bool> send_all(AsyncFd& to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      co_await to.writable();
    } else if (errno != EINTR) {
      co_return false;
    }
  }
  co_return true;
}

Task<bool> send_within(AsyncFd& to, std::string_view bytes, ByteBudget& budget) {
  if (!budget.take(bytes.size())) co_return false;
  co_return co_await send_all(to, bytes);
}

Task<> carry(Loop& loop, AsyncFd& inside, AsyncFd& outside, ByteBudget& up, ByteBudget& down) {
  auto sending = start(carry_one_way(loop, inside, outside, up));
  co_await carry_one_way(loop, outside, inside, down);
  co_await sending;
}

}  // namespace egress
