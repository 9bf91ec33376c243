// Endpoint: a listening socket that answers one HTTP request of each client and closes the connection. The size of a
// request, its time and the number of clients are bounded. Errors of clients are not logged.
// Used by: the daemon's metrics, `warder dashboard`.
#pragma once
#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/http/message.h"

namespace http {

class Endpoint {
 public:
  // `socket` is a listening socket. `handler` is called from the loop. Errors: those of fcntl(2) and of watching the
  // socket.
  static Result<std::unique_ptr<Endpoint>> open(Loop& loop, Fd socket, Handler handler);
  Endpoint(const Endpoint&) = delete;

 private:
  Endpoint(Loop& loop, AsyncFd socket, Handler handler);
  Task<> accept_all();
  Task<> serve(AsyncFd client);

  Loop& loop_;
  AsyncFd socket_;
  Handler handler_;
  Scope clients_, accepting_;  // last: cancelled first
};

}  // namespace http
