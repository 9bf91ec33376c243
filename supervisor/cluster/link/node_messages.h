// The messages between warderd and warder-node of one machine: JSON objects, one a line, on two Unix sockets.
// warder-node listens; warderd connects. The first line says what the connection is for:
//   {"hello": {"boot": "..."}}       the one control connection. Then warderd sends:
//     {"find": {"id", "account", "workspace"}}   which node is the home?
//     {"place": {"id", "account", "here"}}       which nodes may run a stateless execution? `here`: this one has a slot
//     {"claim": {"id", "account", "workspace", "from", "epoch", "after_lease"}}, {"fence": {"id", ..., "epoch"}},
//     {"lost": {"id", ...}}                      changes of a home: home_orders.h
//     {"other": {"id", ...}}, {"homes": {"id", ...}}, {"drain": {"id", "drained"}}
//     {"seal_key": {"id", "account", "workspace", "key", "after"}}   of a vault: home_orders.h; answered with "keys", a
//                                                list of {"node", "sealed"}
//     {"open_key": {"id", "account", "workspace", "sealed"}}
//     and warder-node:
//     {"found": {"id", "node", "epoch", "here"}}
//     {"placed": {"id", "nodes": ["n2", "n1"]}}  to ask one after the other; or {"placed": {"id", "why"}}
//     {"answer": {"id", ...}}                    to the others
//     {"failed": {"id", "why", "remedy", "denied"}}   denied: it was not done
//     {"moved": {}}                              every home may have changed: ask again
//     {"lease": {"node", "starts_until_us", "runs_until_us", "slots"}}   see Lease
//     {"rules": {}}                              the cluster's rules may have changed
//   {"rules": {}}                    warder-node sends the trust record and each signed rule: a line with
//     {"rule": {"bytes"}} and the text of so many bytes; then {"end": {}}
//   {"open": {"node", "for": NodeClient}}    a connection to the warderd of that node. warder-node answers
//     {"opened": {"boot"}} or {"refused": {"why", "remedy"}}; after "opened", both sides send MCP 2026-07-28
//   {"push": {"to": node, "home": Push}}    a connection to the warderd of that node, which is to take a workspace of
//     this node; answered like "open"; then both sides send what move_stream.h says
// More of both: view_messages.h, node_numbers.h (the control connection), query_messages.h (connections to other
// nodes). warderd listens; warder-node connects:
//   {"act": NodeClient}                  warderd answers {"serving": {}}; then MCP follows, for a client of another
//   node.
//                                    Without the answer no warderd serves the socket
//   {"take": Push}                   a workspace of another node follows
// Used by: node_link.h, node_listener.h, rule_fetch.h, warder-node. Errors: invalid, naming the field.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/tenant_id.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace cluster {

constexpr size_t kMaxLine = 8 << 10;  // bytes of one of these messages
constexpr size_t kMaxNodeName = 32;

// 1 to 32 of a-z, 0-9 and '-', the first a letter or digit.
bool is_node_name(std::string_view name);

// NodeClient: the client of another node that a connection acts for: that node, the client's name there
// (mcp::Principal::name()), the tenant and the policy that the node's rules give it.
struct NodeClient {
  std::string node, principal, account, policy, policy_hash;
  auto operator<=>(const NodeClient&) const = default;
};
Json write_node_client(const NodeClient& client);
Result<NodeClient> read_node_client(const Json& message, const std::string& path);

// Push: a workspace that its home sends to another node. `node`: the home, and `epoch` of that home. `policy`: of the
// workspace's clients, whose quotas count.
struct Push {
  std::string node;
  tenants::TenantId id;
  uint64_t epoch = 0;
  std::string policy, policy_hash;
};
Json write_push(const Push& push);
Result<Push> read_push(const Json& message, const std::string& path);

// Home: the node that has a workspace. `epoch` grows with each change of the home.
struct Home {
  std::string node;
  uint64_t epoch = 0;
  bool is_here = false;
};
Result<Home> read_home(const Json& result);

constexpr size_t kMaxPlacedNodes = 8;  // nodes in "placed"
// Errors: unavailable: no node may run it, with the reason.
Result<std::vector<std::string>> read_positions(const Json& placed);

// Lease: how long this node may act as the home of its workspaces, by CLOCK_BOOTTIME, which counts while the machine
// sleeps, too: until `starts_until` executions may start and files may be written, until `runs_until` programs may run.
struct Lease {
  std::string node;  // the name of this node
  std::chrono::microseconds starts_until{0}, runs_until{0};
  uint32_t slots = 1 << 20;  // executions that this node takes at the same time (NodeSettings)
};
Result<Lease> read_lease(const Json& message);
// CLOCK_BOOTTIME (clock_gettime(2)).
std::chrono::microseconds boot_time();

}  // namespace cluster
