// Membership: warderd as a node of a cluster: the link to warder-node, the requests that other nodes answer, and the
// requests that come from other nodes. Made by: supervisor/daemon/, where the configuration has the key "cluster".
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/cluster/link/node_link.h"
#include "supervisor/cluster/link/node_listener.h"
#include "supervisor/cluster/link/request_router.h"
#include "supervisor/cluster/link/rule_follower.h"

namespace cluster {

class Membership {
 public:
  // References must outlive the object. `ended`: see NodeLink. `socket`: of warder-node.
  Membership(Loop& loop, Work& work, LoopShares& shares, const std::string& socket, const mcp::Server& server,
             std::function<void(LeaseEnd)> ended)
      : loop_(loop),
        link_(loop, socket, std::move(ended)),
        gate_(loop),
        router_(loop, work, shares, link_, gate_, server.identity()) {}

  // Takes the policies, definitions and skills that the cluster's authority has signed. Errors: those of RuleFollower.
  Result<> take_rules(const RuleFollower::Settings& settings, RuleFollower::Uses uses) {
    TRY(rules_, RuleFollower::make(loop_, settings, std::move(uses)));
    link_.on_rules([this] { rules_->changed(); });
    rules_->begin();
    return {};
  }
  // nullptr: the rules of the cluster are not used.
  const RuleFollower* rules() const { return rules_.get(); }

  NodeLink& link() { return link_; }
  RequestRouter& router() { return router_; }
  MoveGate& gate() { return gate_; }
  // Takes requests of other nodes from a listening socket. Only `users` may connect. `clients` must outlive this
  // object. `handlers`: for queries and workspaces of other nodes.
  Result<> listen(Fd socket, const std::set<uid_t>& users, mcp::Listener& clients, NodeListener::Handlers handlers) {
    TRY(auto listener, NodeListener::open(loop_, std::move(socket), users, clients, std::move(handlers)));
    listeners_.push_back(std::move(listener));
    return {};
  }
  void stop_listening() { listeners_.clear(); }

 private:
  Loop& loop_;
  NodeLink link_;
  MoveGate gate_;
  RequestRouter router_;
  std::vector<std::unique_ptr<NodeListener>> listeners_;
  std::unique_ptr<RuleFollower> rules_;  // set by take_rules()
};

}  // namespace cluster
