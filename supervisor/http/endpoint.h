// Endpoint: a listening socket whose clients are answered once and let go. How much one can say, for how long, and how
// many there are at once is bounded. Errors of clients are their own; none is logged.
#pragma once
#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/http/message.h"

namespace http {

class Endpoint {
 public:
  // `socket` listens. `handler` is called from the loop. Errors: what fcntl or the loop said of the socket.
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
