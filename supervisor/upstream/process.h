// ServerProcess: a running MCP server, spoken to over its standard streams. Destroying it kills all of it.
// Source: start_outside() and start_in_jail(). Errors: unavailable, denied: it could not be started, and why.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jail/host.h"
#include "policies/policy.h"
#include "supervisor/base/loop.h"
#include "supervisor/upstream/secrets.h"

namespace upstream {

class ServerProcess {
 public:
  virtual ~ServerProcess() = default;
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  // A stream socket that is its standard input; non-blocking, as are the others. Closing it asks it to end.
  virtual AsyncFd& in() = 0;
  virtual AsyncFd& out() = 0;
  virtual AsyncFd& err() = 0;
  // Waits for its end and tells it in words: "ended with status 1".
  virtual Task<std::string> ended() = 0;
};

// As the daemon's own user, in a session of its own, with nothing of the daemon's environment but PATH, HOME, LANG,
// USER and TZ. What it starts itself and puts into other sessions is not killed with it.
Result<std::unique_ptr<ServerProcess>> start_outside(Loop& loop, const ServerConfig& config, const Variables& secrets);

// What a jail of a server takes from the tenant's policy, and what it may see.
struct JailedStart {
  const policies::Policy& policy;
  int folder = -1;  // shown as /workspace, writable; borrowed until the task is done
};
// In a jail of its own: no network, its folder as /workspace, the policy's limits and system calls.
Task<Result<std::unique_ptr<ServerProcess>>> start_in_jail(jail::Host& host, const ServerConfig& config,
                                                           Variables secrets, JailedStart what);

}  // namespace upstream
