// A query of the cluster: what the warderd of other nodes answer about themselves, for operators. It goes over
// connections as those of clients (encrypted, between nodes of the trust record), but acts for no tenant. On the wire
// its name is "look".
//   warderd      {"look": {"node"}}                  the first line to its warder-node: a connection to that node's
//     warderd. Answers: {"opened"} or {"refused"}, as for {"open"} (node_messages.h)
//   warder-node  {"look": {"node", "accounts"}}      the first line to the other warderd: the asking node, and the
//     accounts for which the trust record lets it act; "all" or a list
//   then the asking warderd sends one line, {"ask": "executions"} or {"ask": "policies"}, and gets one line for each
//   row
//     and a last one, {"end": {"left_out"}}: rows that were too many
// Used by: cluster_query.h, node_listener.h, warder-node. Errors: invalid, naming the field.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace cluster {

constexpr size_t kMaxQueryLine = 80 << 10;  // bytes of the first line to a warderd, with up to 1,000 accounts
constexpr size_t kMaxQueryRow = 4096;       // bytes of a row
constexpr size_t kMaxQueryRows = 1000;      // of one node

enum class ClusterQueryKind { executions, policies };
std::string_view name_of(ClusterQueryKind kind);
Json write_ask(ClusterQueryKind kind);
Result<ClusterQueryKind> read_ask(const Json& message);

// QueryOrder: the node that asks, and the tenants that it may see.
struct QueryOrder {
  std::string node;
  std::optional<std::vector<std::string>> accounts;  // nullopt: all

  bool sees(std::string_view account) const;
};
Json write_query_order(const QueryOrder& order);
Result<QueryOrder> read_query_order(const Json& check);

// FarExecution: an execution that waits or runs. Times are by the clock of its node.
struct FarExecution {
  std::string id, tenant, language, workspace, state, policy, principal;
  bool is_background = false;
  bool is_shared = false;  // of a policy whose workspaces belong to the cluster: its account is the same on all nodes
  uint64_t age_us = 0;     // since the request
  std::optional<uint64_t> wall_us, cpu_us, memory_bytes;  // nullopt: not known
};
Json write_far_execution(const FarExecution& execution);
Result<FarExecution> read_far_execution(const Json& row);

// FarPolicy: a policy of a node whose workspaces belong to the cluster.
struct FarPolicy {
  std::string name, hash;
  std::string version;         // of the node's warderd
  uint64_t user_accounts = 0;  // connected tenants "uid-N" that have this policy
};
Json write_far_policy(const FarPolicy& policy);
Result<FarPolicy> read_far_policy(const Json& row);

}  // namespace cluster
