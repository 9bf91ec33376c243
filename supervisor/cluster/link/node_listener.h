// NodeListener: warderd's socket for warder-node, which brings clients of other nodes. The first line of a connection
// names the client ({"act"}, node_messages.h); then an mcp::Listener serves it as that client. Or it is a look
// ({"look"}, query_messages.h), which is answered here.
// Only the user of warder-node, root and the daemon's own user may connect. Source of the socket: systemd, or the key
// "cluster.listen". Used by: supervisor/daemon/. Errors: invalid, no listening Unix stream socket.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/base/under_way.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/query_messages.h"
#include "supervisor/protocol/mcp/listener.h"

namespace cluster {

class NodeListener {
 public:
  // Answers a query: at most kMaxQueryRows rows, and the number of those that were left out.
  struct Rows {
    std::vector<Json> rows;
    uint64_t left_out = 0;
  };
  using Answer = std::function<Rows(const QueryOrder& order, ClusterQueryKind kind)>;
  // Takes a workspace of another node ({"take"}).
  using Take = std::function<void(AsyncFd socket, Push push)>;
  struct Handlers {
    Answer answer;
    Take take;
  };
  // `clients` must outlive the listener.
  static Result<std::unique_ptr<NodeListener>> open(Loop& loop, Fd socket, std::set<uid_t> users,
                                                    mcp::Listener& clients, Handlers handlers);
  NodeListener(const NodeListener&) = delete;
  NodeListener& operator=(const NodeListener&) = delete;

 private:
  NodeListener(Loop& loop, AsyncFd socket, std::set<uid_t> users, mcp::Listener& clients, Handlers handlers)
      : loop_(loop),
        socket_(std::move(socket)),
        users_(std::move(users)),
        clients_(clients),
        handlers_(std::move(handlers)),
        tasks_(loop) {}
  Task<> introduce(Fd socket);
  void serve_client(AsyncFd& socket, const NodeClient& for_client);
  Task<> show(AsyncFd& socket, QueryOrder order);

  Loop& loop_;
  AsyncFd socket_;
  const std::set<uid_t> users_;
  mcp::Listener& clients_;
  const Handlers handlers_;
  UnderWay<std::string> queries_;  // of each asking node
  Scope tasks_;                    // last: cancelled first
};

}  // namespace cluster
