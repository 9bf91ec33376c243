// ServerProcess: a running MCP server, reached over its standard streams. Destroying it kills the jail, or outside of
// jails the process group.
// Source: start_outside() and start_in_jail(). Used by: stdio_transport.h.
// Errors: unavailable, denied or exhausted, with the reason why the server could not be started.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jail/host.h"
#include "jail/usage/disk_users.h"
#include "policies/policy_fwd.h"
#include "supervisor/base/loop.h"
#include "supervisor/upstream/secrets.h"

namespace upstream {

class ServerProcess {
 public:
  virtual ~ServerProcess() = default;
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  // The server's standard input, a stream socket. All three streams are non-blocking. Closing this one asks the server
  // to end.
  virtual AsyncFd& in() = 0;
  virtual AsyncFd& out() = 0;
  virtual AsyncFd& err() = 0;
  // Waits for the end of the server and describes it: "ended with status 1".
  virtual Task<std::string> ended() = 0;
};

// Starts the server as the daemon's user, in a new session. Its environment has PATH, HOME, LANG, USER and TZ of
// the daemon, and the configured variables. Child processes in other process groups are not killed with it.
Result<std::unique_ptr<ServerProcess>> start_outside(Loop& loop, const ServerConfig& config, const Variables& secrets);

// ServerNetwork: gives a server in a jail the hosts of its `egress`.
class ServerNetwork {
 public:
  // The server's connections end with the object.
  class Use {
   public:
    virtual ~Use() = default;
  };
  virtual ~ServerNetwork() = default;
  // `listener`: of the server's jail, borrowed during the call. `tenant`: whose server it is; empty: of all tenants.
  // Errors: unavailable: the egress proxy, or a secret of the rules.
  virtual Task<Result<std::unique_ptr<Use>>> open(const ServerConfig& config, std::string tenant, int listener) = 0;
};

// The tenant's part in the jail of a server.
struct JailedStart {
  const policies::Policy& policy;
  int folder = -1;                   // descriptor; shown as /workspace, writable; borrowed until the task is done
  std::string tenant = {};           // empty: all tenants
  ServerNetwork* network = nullptr;  // for a server with `egress`
  jail::DiskAccount disk = {};       // of the folder
};
// Starts the server in its own jail: no network but the hosts of its `egress`, its folder as /workspace, the policy's
// limits and system calls.
Task<Result<std::unique_ptr<ServerProcess>>> start_in_jail(jail::Host& host, const ServerConfig& config,
                                                           Variables secrets, JailedStart start);

}  // namespace upstream
