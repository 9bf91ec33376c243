// NodeService: warder-node: the bus, the lease, the nodes, the homes, and the connections between the warderd of this
// node and those of others. It reads no MCP.
// Used by: main.cc. Errors of open(): those of its files, and of the first connection to the bus.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/node/carrier.h"
#include "supervisor/cluster/node/daemon_door.h"
#include "supervisor/cluster/node/home_directory.h"
#include "supervisor/cluster/node/lease_keeper.h"
#include "supervisor/cluster/node/node_directory.h"
#include "supervisor/cluster/node/node_orders.h"
#include "supervisor/cluster/node/node_settings.h"
#include "supervisor/cluster/node/rule_keeper.h"
#include "supervisor/cluster/node/rule_work.h"
#include "supervisor/cluster/node/trust_keeper.h"

namespace cluster {

class NodeService : private DaemonDoor::Service {
 public:
  // Reads keys and the trust record, connects to the bus, and serves `socket`. `ended` is called, with no task on the
  // stack, when the bus has closed for ever: the process must end, and its next start connects again. The loop must
  // outlive the service.
  static Task<Result<std::unique_ptr<NodeService>>> open(Loop& loop, NodeSettings settings, Fd socket,
                                                         std::set<uid_t> users, std::function<void(Error)> ended);
  ~NodeService() override;

 private:
  NodeService(Loop& loop, NodeSettings settings, std::unique_ptr<Bus> bus, TrustRecord trust, PrivateKey key,
              std::function<void(Error)> ended);
  Result<> begin(Fd socket, std::set<uid_t> users);
  Task<Result<Home>> home_of(tenants::TenantId id) override;
  Json lease() override;
  Task<> give_rules(AsyncFd daemon) override;
  Result<std::vector<std::string>> slots_for(const std::string& account, bool here_is_free) override {
    return nodes_.slots_for(account, here_is_free);
  }
  Json nodes_after(const std::string& name) override;
  Json homes_for(const HomeQuestion& question) override;
  Task<Result<ForgottenHomes>> forget_homes(std::string account) override { return homes_.forget(std::move(account)); }
  void set_load(std::optional<NodeLoad> load) override { nodes_.set_load(load); }
  Task<> carry(AsyncFd local, std::string node, std::optional<NodeClient> for_client) override;
  Task<> carry_push(AsyncFd local, std::string node, Push push) override;
  Task<Result<Json>> order(std::string order, Json question) override;
  void note(const BusNotice& notice);
  Task<> report_numbers();
  void take_trust(const TrustRecord& record);

  Loop& loop_;
  const NodeSettings settings_;
  const std::function<void(Error)> ended_;
  const std::string boot_;
  TrustRecord trust_;
  std::unique_ptr<Bus> bus_;
  ObserverList<BusObserver>::Place noted_;
  std::unique_ptr<DaemonDoor> door_;  // set by begin()
  std::optional<BootClock::time_point> renewed_;
  NodeDirectory nodes_;
  LeaseKeeper lease_;
  HomeDirectory homes_;
  NodeOrders orders_;
  Carrier carrier_;
  std::unique_ptr<RuleWork> rule_work_;  // these three are set by open()
  std::unique_ptr<TrustKeeper> keeper_;
  std::unique_ptr<RuleKeeper> rules_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
