// NodeOrders: what the warderd of this machine asks to do with homes (node_messages.h: "claim", "fence", "lost",
// "other", "homes", "drain"). Used by: node_service.h. Errors: denied: it was not done; invalid: a wrong question;
// others: it may have been done.
#pragma once
#include <string>

#include "supervisor/base/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/node/home_directory.h"
#include "supervisor/cluster/node/node_directory.h"

namespace cluster {

class NodeOrders {
 public:
  // Both must outlive the object.
  NodeOrders(HomeDirectory& homes, NodeDirectory& nodes) : homes_(homes), nodes_(nodes) {}

  static bool knows(const std::string& order);
  // The members of the answer, without "id".
  Task<Result<Json>> answer(std::string order, Json question);

 private:
  Task<Result<Json>> change(std::string order, Json question);
  Json list(const tenants::TenantId& after) const;

  HomeDirectory& homes_;
  NodeDirectory& nodes_;
};

}  // namespace cluster
