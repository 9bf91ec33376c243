// Endpoint: a listening socket that answers one HTTP request of each client and closes the connection. The size of a
// request, its time and the number of clients are bounded: beyond it the client that waits longest is disconnected, so
// that a client which sends its request at once is answered, however many others only wait. Errors of clients are not
// logged.
// Used by: the daemon's metrics, `warder dashboard`.
#pragma once
#include <map>
#include <memory>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/http/message.h"

namespace http {

// Answers a request, in a task. The parts of the request stay valid until the task has ended.
using TaskHandler = std::function<Task<Response>(HttpRequest)>;

class Endpoint {
 public:
  // `socket` is a listening socket. `handler` is called from the loop. Errors: those of fcntl(2) and of watching the
  // socket.
  static Result<std::unique_ptr<Endpoint>> open(Loop& loop, Fd socket, Handler handler);
  // The same, also for POST. A client that leaves before its answer does not end the task.
  static Result<std::unique_ptr<Endpoint>> open_for_tasks(Loop& loop, Fd socket, TaskHandler handler);
  Endpoint(const Endpoint&) = delete;

 private:
  Endpoint(Loop& loop, AsyncFd socket, Handler handler, TaskHandler task_handler);
  static Result<std::unique_ptr<Endpoint>> make(Loop& loop, Fd socket, Handler handler, TaskHandler task_handler);
  Task<> accept_all();
  Task<> serve(AsyncFd client);
  Task<std::string> answer(std::string_view request);
  bool end_oldest();

  Loop& loop_;
  AsyncFd socket_;
  Handler handler_;
  TaskHandler task_handler_;  // instead of handler_
  class WaitingClient;
  uint64_t next_number_ = 0;
  std::map<uint64_t, int> waiting_;  // descriptors of clients that are waited for, by number: the oldest first
  Scope clients_, accepting_;        // last: cancelled first
};

}  // namespace http
