// Membership: warderd as a node of a cluster: the link to warder-node, the requests that other nodes answer, and the
// requests that come from other nodes. Made by: supervisor/daemon/, where the configuration has the key "cluster".
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/cluster/link/away.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/cluster/link/node_listener.h"

namespace cluster {

class Membership {
 public:
  // References must outlive the object. `ended`: see NodeLink. `socket`: of warder-node.
  Membership(Loop& loop, JsonWork& json, LoopShares& shares, const std::string& socket, const mcp::Server& server,
             std::function<void(LeaseEnd)> ended)
      : loop_(loop), link_(loop, socket, std::move(ended)), away_(loop, json, shares, link_, server.identity()) {}

  NodeLink& link() { return link_; }
  Away& away() { return away_; }
  // Takes requests of other nodes from a listening socket. Only `users` may connect. `clients` must outlive this
  // object.
  Result<> listen(Fd socket, const std::set<uid_t>& users, mcp::Listener& clients) {
    TRY(auto listener, NodeListener::open(loop_, std::move(socket), users, clients));
    listeners_.push_back(std::move(listener));
    return {};
  }
  void stop_listening() { listeners_.clear(); }

 private:
  Loop& loop_;
  NodeLink link_;
  Away away_;
  std::vector<std::unique_ptr<NodeListener>> listeners_;
};

}  // namespace cluster
