// Tunnels: bytes from one socket to another and back, until both sides have ended.
// Used by: the proxy's connections. No errors: a side that breaks off ends the tunnel.
#pragma once
#include <cstdint>
#include <string_view>

#include "supervisor/base/loop.h"

namespace egress {

// ByteBudget: how many bytes may still pass, and how many have passed, over all connections of a jail.
struct ByteBudget {
  uint64_t max = 0;
  uint64_t used = 0;
  // Counts the bytes. False: they are more than are left; no byte may pass.
  bool take(uint64_t bytes);
  bool is_used_up() const { return used >= max; }
};

// Sends all bytes. False: the other side has broken off. `bytes` must stay valid until the end.
Task<bool> send_all(AsyncFd& to, std::string_view bytes);
// The same, if the budget has so many bytes left; otherwise no byte is sent, and the result is false.
Task<bool> send_within(AsyncFd& to, std::string_view bytes, ByteBudget& budget);

// Carries bytes in both directions until both sides have ended their output, one has broken off, or a budget is used
// up. Both sockets are shut down then. Sockets and budgets must outlive the task.
Task<> carry(Loop& loop, AsyncFd& inside, AsyncFd& outside, ByteBudget& up, ByteBudget& down);

}  // namespace egress
