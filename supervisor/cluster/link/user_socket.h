// A listening Unix socket for the processes of some users: both sockets between warderd and warder-node.
// Used by: node_listener.h, warder-node. Errors: invalid, no socket that can be watched.
#pragma once
#include <sys/types.h>

#include <functional>
#include <set>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace cluster {

// A listening socket, made non-blocking.
Result<AsyncFd> watch_listening(Loop& loop, Fd socket);
// Takes connections for ever, and gives those of `users` to `take`; all others are closed. Sockets are non-blocking and
// closed on exec. `socket` and `users` must outlive the task.
Task<> accept_users(Loop& loop, AsyncFd& socket, const std::set<uid_t>& users, std::function<void(Fd)> take);

}  // namespace cluster
