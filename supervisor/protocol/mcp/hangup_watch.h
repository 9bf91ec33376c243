// HangupWatch: calls a function when a peer that has ended its output closes the socket. After end of file the socket
// stays readable, so readable events do not show the close. EPOLLHUP does, and epoll_ctl(2) always reports it.
// Used by: Connection. No errors: start() returns nullptr if the loop cannot watch the socket.
#pragma once
#include <functional>
#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"

namespace mcp {

class HangupWatch {
 public:
  // Calls `fn` from the loop, at most once.
  static std::unique_ptr<HangupWatch> start(Loop& loop, int socket, std::function<void()> fn);

 private:
  struct Box {
    uv_poll_t handle;
    std::function<void()> fn;
  };
  Fd fd_;  // a duplicate, because AsyncFd's descriptor has a watcher already. Closed after the box
  UvPtr<Box> box_;
};

}  // namespace mcp
