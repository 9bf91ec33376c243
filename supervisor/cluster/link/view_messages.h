// What operators see of a cluster: its nodes and the homes of workspaces, as one node knows them. warderd asks its
// warder-node, page by page, on the control connection (node_messages.h):
//   warderd      {"view": {"id", "after"}}                       nodes behind this name, in the order of names
//   warder-node  {"nodes": {"id", "nodes": [NodeView], "next"}}    `next`: for `after`; missing: these were the last
//   warderd      {"list_homes": {"id", "account", "node", "after"}}   account and node may be missing: all
//   warder-node  {"homes": {"id", "homes": [HomeView], "next"}}
//   warderd      {"forget_homes": {"id", "account"}}             the tenant was removed here
//   warder-node  {"forgotten": {"id", "homes", "more"}}          `more`: ask again; or {"failed": {"id", "why",
//   "remedy"}}
// and tells it how much it has to do: {"load": {"running", "waiting", "slots", "drained"}}.
// Each message has at most kMaxLine bytes. Used by: node_link.h, warder-node, supervisor/operations/bus/. Errors:
// invalid, naming the field.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cluster/link/node_messages.h"

namespace cluster {

constexpr size_t kMaxLabels = 32;     // of a node
constexpr size_t kMaxLabelText = 64;  // bytes of a label's name, and of its value

// Printable ASCII without '"' and '\': a label takes as many bytes in JSON as it has.
bool is_label_text(std::string_view text);

enum class NodeState {
  here,     // the node that was asked
  alive,    // its last sign of life is new
  doubted,  // some signs are missing, or an order got no answer: others are preferred
  silent,   // not heard for 15 s, or never: it gets no new work
  drained,  // it takes no new work
  removed,  // the trust record does not name it, and homes still do
};
std::string_view name_of(NodeState state);

// NodeView: one node. The same members, with the same names, are in the message.
struct NodeView {
  std::string name;
  NodeState state = NodeState::silent;
  bool is_drained = false;  // also where `state` says another thing
  std::map<std::string, std::string> labels;
  uint32_t slots = 0, used = 0, waiting = 0;            // executions
  uint64_t homes = 0;                                   // workspaces that have their home there
  std::string version, boot;                            // empty: never described
  uint32_t wire_oldest = 0, wire_newest = 0;            // versions of the protocol between nodes
  std::optional<std::chrono::microseconds> silent_for;  // since the last sign of life; nullopt: never heard
};
Json write_node_view(const NodeView& node);
Result<NodeView> read_node_view(const Json& row);

struct NodePage {
  std::vector<NodeView> nodes;
  std::string next;  // empty: these were the last ones
};
Result<NodePage> read_node_page(const Json& message);

// HomeView: the home of one workspace. `account` is empty where the key does not tell it: a long name's key is a hash.
struct HomeView {
  std::string key;  // in the bucket
  std::string account, workspace;
  std::string node;
  uint64_t epoch = 0;
};
Json write_home_view(const HomeView& home);
struct HomePage {
  std::vector<HomeView> homes;
  std::string next;  // a key; empty: these were the last ones. A page may be empty and not the last one
};
Result<HomePage> read_home_page(const Json& message);

struct HomeQuestion {
  std::string account, node;  // empty: all
  std::string after;          // a key
};
Json write_home_question(const HomeQuestion& question);
Result<HomeQuestion> read_home_question(const Json& message);
// The member "after" of a question about nodes.
Result<std::string> read_after(const Json& message);

// ForgottenHomes: the records of homes that were removed.
struct ForgottenHomes {
  uint64_t homes = 0;
  bool has_more = false;  // there may be more
};
Json write_forgotten(const ForgottenHomes& forgotten);
Result<ForgottenHomes> read_forgotten(const Json& message);
// The account of a message "forget_homes".
Result<std::string> read_forgotten_account(const Json& message);

// NodeLoad: what a daemon has to do.
struct NodeLoad {
  uint32_t running = 0, waiting = 0;  // executions
  uint32_t slots = 0;                 // executions that may run at the same time
  bool is_drained = false;            // it takes no new work
  bool operator==(const NodeLoad&) const = default;
};
Json write_load(const NodeLoad& load);
Result<NodeLoad> read_load(const Json& message);

// What a daemon knows about itself as a member.
enum class Standing { no_cluster, no_warder_node, fenced, member };
std::string_view name_of(Standing standing);  // "not in a cluster", "no warder-node", "fenced", "member"

}  // namespace cluster
