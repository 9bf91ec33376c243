// NodeOrders: what the warderd of this machine asks to do with homes (node_messages.h: "claim", "fence", "lost",
// "other", "homes", "drain"), and "seal_key", "open_key". Used by: node_service.h. Errors: denied: it was not done;
// invalid: a wrong question; others: it may have been done.
#pragma once
#include <functional>
#include <string>
#include <utility>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/node/home_directory.h"
#include "supervisor/cluster/node/node_directory.h"
#include "supervisor/cluster/trust/node_key.h"

namespace cluster {

class NodeOrders {
 public:
  // Both must outlive the object. `key`: of this node.
  NodeOrders(HomeDirectory& homes, NodeDirectory& nodes, std::function<const PrivateKey&()> key)
      : homes_(homes), nodes_(nodes), key_(std::move(key)) {}

  static bool knows(const std::string& order);
  // The members of the answer, without "id".
  Task<Result<Json>> answer(std::string order, Json question);

 private:
  Task<Result<Json>> change(std::string order, Json question);
  Json list(const tenants::TenantId& after) const;
  Result<Json> seal_key(const Json& question) const;
  Result<Json> open_key(const Json& question) const;

  HomeDirectory& homes_;
  NodeDirectory& nodes_;
  const std::function<const PrivateKey&()> key_;
};

}  // namespace cluster
