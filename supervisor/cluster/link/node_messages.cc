#include "supervisor/cluster/link/node_messages.h"

#include <time.h>

#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"

namespace cluster {
namespace {

constexpr size_t kMaxPrincipal = 2048;
constexpr int64_t kMaxEpoch = int64_t{1} << 53;  // JSON numbers beyond are not exact in every reader
constexpr int64_t kMaxMicroseconds = int64_t{1} << 53;

Result<std::string> node_in(Fields& fields) {
  TRY(std::string name, fields.string("node", kMaxNodeName));
  if (!is_node_name(name)) return fail(Code::invalid, fields.path_of("node") + ": not the name of a node");
  return name;
}

}  // namespace

bool is_node_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNodeName && is_lower_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

Json write_node_client(const NodeClient& client) {
  return {{"node", client.node},
          {"principal", client.principal},
          {"account", client.account},
          {"policy", client.policy},
          {"policy_hash", client.policy_hash}};
}

Result<NodeClient> read_node_client(const Json& message, const std::string& path) {
  Fields fields(message, path);
  NodeClient client;
  TRY(client.node, node_in(fields));
  TRY(client.principal, fields.string("principal", kMaxPrincipal));
  TRY(client.account, fields.string("account", 64));
  TRY(client.policy, fields.string("policy", 64));
  TRY(client.policy_hash, fields.string("policy_hash", 64));
  CHECKED(fields.done());
  if (client.principal.empty()) return fail(Code::invalid, path + ".principal: empty");
  for (const auto& [key, value] : {std::pair{"account", &client.account}, std::pair{"policy", &client.policy}})
    if (!policies::valid_name(*value)) return fail(Code::invalid, path + "." + key + ": not a name");
  return client;
}

Json write_push(const Push& push) {
  return {{"node", push.node},   {"account", push.id.account}, {"workspace", push.id.workspace},
          {"epoch", push.epoch}, {"policy", push.policy},      {"policy_hash", push.policy_hash}};
}

Result<Push> read_push(const Json& message, const std::string& path) {
  Fields fields(message, path);
  Push push;
  TRY(push.node, node_in(fields));
  TRY(push.id.account, fields.string("account", 64));
  TRY(push.id.workspace, fields.string("workspace", 64));
  TRY(const int64_t epoch, fields.integer("epoch", 1, kMaxEpoch));
  push.epoch = static_cast<uint64_t>(epoch);
  TRY(push.policy, fields.string("policy", 64));
  TRY(push.policy_hash, fields.string("policy_hash", 64));
  CHECKED(fields.done());
  for (const auto& [key, value] : {std::pair{"account", &push.id.account}, std::pair{"policy", &push.policy}})
    if (!policies::valid_name(*value)) return fail(Code::invalid, path + "." + key + ": not a name");
  if (!push.id.workspace.empty() && !policies::valid_workspace_name(push.id.workspace))
    return fail(Code::invalid, path + ".workspace: not a name");
  return push;
}

Result<Home> read_home(const Json& result) {
  Fields fields(result, "found");
  (void)fields.find("id");
  Home home;
  TRY(home.node, node_in(fields));
  TRY(const int64_t epoch, fields.integer("epoch", 1, kMaxEpoch));
  home.epoch = static_cast<uint64_t>(epoch);
  TRY(home.is_here, fields.boolean_or("here", false));
  CHECKED(fields.done());
  return home;
}

Result<std::vector<std::string>> read_positions(const Json& placed) {
  Fields fields(placed, "placed");
  (void)fields.find("id");
  TRY(const std::string why, fields.string_or("why", "", 1000));
  TRY(auto nodes, fields.strings_or("nodes", {}));
  CHECKED(fields.done());
  if (nodes.empty())
    return fail(Code::unavailable, why.empty() ? "no node of the cluster may run it" : printable(why, 300));
  if (nodes.size() > kMaxPlacedNodes || !std::all_of(nodes.begin(), nodes.end(), is_node_name))
    return fail(Code::invalid, "placed.nodes: too many, or not the names of nodes");
  return nodes;
}

Result<Lease> read_lease(const Json& message) {
  Fields fields(message, "lease");
  Lease lease;
  TRY(lease.node, node_in(fields));
  TRY(const int64_t starts, fields.integer("starts_until_us", 0, kMaxMicroseconds));
  TRY(const int64_t runs, fields.integer("runs_until_us", 0, kMaxMicroseconds));
  TRY(const int64_t slots, fields.integer_or("slots", 0, 1 << 20, 1 << 20));
  lease.slots = static_cast<uint32_t>(slots);
  CHECKED(fields.done());
  if (runs < starts) return fail(Code::invalid, "lease.runs_until_us: before starts_until_us");
  lease.starts_until = std::chrono::microseconds(starts);
  lease.runs_until = std::chrono::microseconds(runs);
  return lease;
}

std::chrono::microseconds boot_time() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace cluster
