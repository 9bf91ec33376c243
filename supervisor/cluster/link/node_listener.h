// NodeListener: warderd's socket for warder-node, which brings clients of other nodes. The first line of a connection
// names the client ({"act"}, node_messages.h); then an mcp::Listener serves it as that client.
// Only the user of warder-node, root and the daemon's own user may connect. Source of the socket: systemd, or the key
// "cluster.listen". Used by: supervisor/daemon/. Errors: invalid, no listening Unix stream socket.
#pragma once
#include <memory>
#include <set>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/mcp/listener.h"

namespace cluster {

class NodeListener {
 public:
  // `clients` must outlive the listener.
  static Result<std::unique_ptr<NodeListener>> open(Loop& loop, Fd socket, std::set<uid_t> users,
                                                    mcp::Listener& clients);
  NodeListener(const NodeListener&) = delete;
  NodeListener& operator=(const NodeListener&) = delete;

 private:
  NodeListener(Loop& loop, AsyncFd socket, std::set<uid_t> users, mcp::Listener& clients)
      : loop_(loop), socket_(std::move(socket)), users_(std::move(users)), clients_(clients), tasks_(loop) {}
  Task<> accept_all();
  Task<> introduce(Fd socket);
  bool may_connect(int socket) const;

  Loop& loop_;
  AsyncFd socket_;
  const std::set<uid_t> users_;
  mcp::Listener& clients_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
