// NodeLink: warderd's connection to warder-node of the same machine: which node is the home of a workspace, how long
// this node may act as a home, and connections to the warderd of other nodes. Without warder-node the link tries again
// each second; requests for shared workspaces then fail, all others do not need it.
// Used by: away.h, supervisor/daemon/. Errors: unavailable: warder-node is not there, or cannot reach the cluster.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/cluster/link/node_messages.h"

namespace cluster {

// The two ends of a lease: from then on nothing may start (Lease::starts_until), or run (Lease::runs_until).
enum class LeaseEnd { starts, runs };

class NodeLink {
 public:
  // `socket`: path of warder-node's socket. `ended` is called at each end of the lease: for `starts`, executions that
  // wait must not start; for `runs`, those that run must end.
  NodeLink(Loop& loop, std::string socket, std::function<void(LeaseEnd)> ended);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  // The home of a workspace, from memory or from warder-node. Errors: unavailable.
  Task<Result<Home>> home_of(tenants::TenantId id);
  // Whether this node may start and write as a home now.
  bool may_start() const { return boot_time() < lease_.starts_until; }
  // The name of this node; empty: warder-node has not sent it yet.
  const std::string& node() const { return lease_.node; }
  bool is_connected() const { return static_cast<bool>(socket_); }

  struct Opened {
    AsyncFd socket;    // carries MCP
    std::string boot;  // of the other warderd
  };
  // Opens a connection to the warderd of `node`. Errors: unavailable, with the reason that warder-node gives; then no
  // request was sent.
  Task<Result<Opened>> open(std::string node, Acting acting);

 private:
  Task<> stay_connected();
  Task<> serve(AsyncFd& socket);
  void take(const Json& message);
  void take_found(const Json& found);
  void take_lease(const Json& message);
  void lose();
  Result<> send(const Json& message);

  Loop& loop_;
  const std::string path_;
  const std::function<void(LeaseEnd)> ended_;
  AsyncFd socket_;  // empty: not connected
  const std::string boot_;
  std::map<tenants::TenantId, Home> homes_;
  struct Asked {
    tenants::TenantId id;
    uint64_t moves;  // moves_ when it was asked
    OneShot<Result<Home>>::Resolver answer;
  };
  std::map<uint64_t, Asked> asked_;
  uint64_t last_id_ = 0;
  uint64_t moves_ = 0;  // messages "moved": an answer to a question from before the last one may be old
  Lease lease_;
  Deadline starts_until_, runs_until_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
