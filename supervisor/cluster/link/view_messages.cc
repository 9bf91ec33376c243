#include "supervisor/cluster/link/view_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policies/names.h"
#include "supervisor/base/json/fields.h"

namespace cluster {
namespace {

constexpr int64_t kMaxCount = 1 << 20;           // executions
constexpr int64_t kMaxHomes = int64_t{1} << 40;  // of one node
constexpr int64_t kMaxEpochShown = int64_t{1} << 53;
constexpr int64_t kMaxSilence = int64_t{1} << 53;  // microseconds
constexpr size_t kMaxRows = 256;                   // of one message
constexpr size_t kMaxKey = 255;                    // bytes

constexpr std::array<std::pair<NodeState, std::string_view>, 6> kStateNames = {{{NodeState::here, "here"},
                                                                                {NodeState::alive, "alive"},
                                                                                {NodeState::doubted, "doubted"},
                                                                                {NodeState::silent, "silent"},
                                                                                {NodeState::drained, "drained"},
                                                                                {NodeState::removed, "removed"}}};

Result<NodeState> read_state(Fields& fields) {
  TRY(const std::string name, fields.string("state", 16));
  for (const auto& [state, known] : kStateNames)
    if (name == known) return state;
  return fail(Code::invalid, fields.path_of("state") + ": not a state of a node");
}

Result<uint32_t> count_in(Fields& fields, const char* key) {
  TRY(const int64_t count, fields.integer(key, 0, kMaxCount));
  return static_cast<uint32_t>(count);
}

Result<std::map<std::string, std::string>> labels_in(Fields& fields) {
  const Json* object = fields.find("labels");
  const std::string path = fields.path_of("labels");
  if (!object || !object->is_object() || object->size() > kMaxLabels)
    return fail(Code::invalid, path + ": not an object of at most 32");
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : object->items()) {
    const bool is_text = value.is_string() && is_label_text(value.get_ref<const std::string&>());
    if (!is_label_text(key) || !is_text)
      return fail(Code::invalid, path + ": a label is no printable text of at most 64 bytes");
    labels[key] = value.get<std::string>();
  }
  return labels;
}

Result<std::string> node_name_in(Fields& fields, const char* key) {
  TRY(std::string name, fields.string(key, kMaxNodeName));
  if (!is_node_name(name)) return fail(Code::invalid, fields.path_of(key) + ": not the name of a node");
  return name;
}

// A text that this program prints: of a version, of a boot.
Result<std::string> plain_text_in(Fields& fields, const char* key) {
  TRY(std::string text, fields.string(key, 64));
  if (!is_label_text(text)) return fail(Code::invalid, fields.path_of(key) + ": not printable");
  return text;
}

Result<HomeView> read_home_view(const Json& row) {
  Fields fields(row, "homes");
  HomeView home;
  TRY(home.key, fields.string("key", kMaxKey));
  TRY(home.account, fields.string("account", 64));
  TRY(home.workspace, fields.string("workspace", 64));
  TRY(home.node, node_name_in(fields, "node"));
  TRY(const int64_t epoch, fields.integer("epoch", 1, kMaxEpochShown));
  home.epoch = static_cast<uint64_t>(epoch);
  CHECKED(fields.done());
  // Another program may have written a key without a workspace.
  if (!policies::valid_name(home.account) ||
      (!home.workspace.empty() && !policies::valid_workspace_name(home.workspace)))
    home.account = home.workspace = {};
  return home;
}

// The rows of a page: a list in the member `key`.
Result<const Json*> rows_in(Fields& fields, const char* key) {
  (void)fields.find("id");
  const Json* rows = fields.find(key);
  if (!rows || !rows->is_array() || rows->size() > kMaxRows)
    return fail(Code::invalid, fields.path_of(key) + ": not a list of at most 256");
  return rows;
}

}  // namespace

bool is_label_text(std::string_view text) {
  return text.size() <= kMaxLabelText &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::string_view name_of(NodeState state) {
  for (const auto& [one, name] : kStateNames)
    if (one == state) return name;
  return "silent";
}

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::member:
      return "member";
    case Standing::fenced:
      return "fenced";
    case Standing::no_warder_node:
      return "no warder-node";
    case Standing::no_cluster:
      break;
  }
  return "not in a cluster";
}

Json write_node_view(const NodeView& node) {
  Json row = {{"name", node.name},
              {"state", name_of(node.state)},
              {"drained", node.is_drained},
              {"labels", node.labels},
              {"slots", node.slots},
              {"used", node.used},
              {"waiting", node.waiting},
              {"homes", node.homes},
              {"version", node.version},
              {"boot", node.boot},
              {"wire_oldest", node.wire_oldest},
              {"wire_newest", node.wire_newest}};
  if (node.silent_for) row["silent_us"] = node.silent_for->count();
  return row;
}

Result<NodeView> read_node_view(const Json& row) {
  Fields fields(row, "nodes");
  NodeView node;
  TRY(node.name, node_name_in(fields, "name"));
  TRY(node.state, read_state(fields));
  TRY(node.is_drained, fields.boolean_or("drained", false));
  TRY(node.labels, labels_in(fields));
  TRY(node.slots, count_in(fields, "slots"));
  TRY(node.used, count_in(fields, "used"));
  TRY(node.waiting, count_in(fields, "waiting"));
  TRY(const int64_t homes, fields.integer("homes", 0, kMaxHomes));
  node.homes = static_cast<uint64_t>(homes);
  TRY(node.version, plain_text_in(fields, "version"));
  TRY(node.boot, plain_text_in(fields, "boot"));
  TRY(node.wire_oldest, count_in(fields, "wire_oldest"));
  TRY(node.wire_newest, count_in(fields, "wire_newest"));
  if (fields.has("silent_us")) {
    TRY(const int64_t silent, fields.integer("silent_us", 0, kMaxSilence));
    node.silent_for = std::chrono::microseconds(silent);
  }
  CHECKED(fields.done());
  return node;
}

Result<NodePage> read_node_page(const Json& message) {
  Fields fields(message, "nodes");
  NodePage page;
  TRY(const Json* rows, rows_in(fields, "nodes"));
  for (const Json& row : *rows) {
    TRY(NodeView node, read_node_view(row));
    page.nodes.push_back(std::move(node));
  }
  if (fields.has("next")) {
    TRY(page.next, node_name_in(fields, "next"));
  }
  CHECKED(fields.done());
  return page;
}

Json write_home_view(const HomeView& home) {
  return {{"key", home.key},
          {"account", home.account},
          {"workspace", home.workspace},
          {"node", home.node},
          {"epoch", home.epoch}};
}

Result<HomePage> read_home_page(const Json& message) {
  Fields fields(message, "homes");
  HomePage page;
  TRY(const Json* rows, rows_in(fields, "homes"));
  for (const Json& row : *rows) {
    TRY(HomeView home, read_home_view(row));
    page.homes.push_back(std::move(home));
  }
  TRY(page.next, fields.string_or("next", "", kMaxKey));
  CHECKED(fields.done());
  return page;
}

Json write_home_question(const HomeQuestion& question) {
  return {{"account", question.account}, {"node", question.node}, {"after", question.after}};
}

Result<HomeQuestion> read_home_question(const Json& message) {
  Fields fields(message, "list_homes");
  (void)fields.find("id");
  HomeQuestion question;
  TRY(question.account, fields.string_or("account", "", 64));
  TRY(question.node, fields.string_or("node", "", kMaxNodeName));
  TRY(question.after, fields.string_or("after", "", kMaxKey));
  CHECKED(fields.done());
  return question;
}

Result<std::string> read_after(const Json& message) {
  Fields fields(message, "view");
  (void)fields.find("id");
  TRY(std::string after, fields.string_or("after", "", kMaxNodeName));
  CHECKED(fields.done());
  return after;
}

Json write_forgotten(const ForgottenHomes& forgotten) {
  return {{"homes", forgotten.homes}, {"more", forgotten.has_more}};
}

Result<ForgottenHomes> read_forgotten(const Json& message) {
  Fields fields(message, "forgotten");
  (void)fields.find("id");
  ForgottenHomes forgotten;
  TRY(const int64_t homes, fields.integer("homes", 0, kMaxHomes));
  forgotten.homes = static_cast<uint64_t>(homes);
  TRY(forgotten.has_more, fields.boolean_or("more", false));
  CHECKED(fields.done());
  return forgotten;
}

Result<std::string> read_forgotten_account(const Json& message) {
  Fields fields(message, "forget_homes");
  (void)fields.find("id");
  TRY(std::string account, fields.string("account", 64));
  CHECKED(fields.done());
  if (!policies::valid_name(account)) return fail(Code::invalid, "forget_homes.account: not a name");
  return account;
}

Json write_load(const NodeLoad& load) {
  return {{"running", load.running}, {"waiting", load.waiting}, {"slots", load.slots}, {"drained", load.is_drained}};
}

Result<NodeLoad> read_load(const Json& message) {
  Fields fields(message, "load");
  NodeLoad load;
  TRY(load.running, count_in(fields, "running"));
  TRY(load.waiting, count_in(fields, "waiting"));
  TRY(load.slots, count_in(fields, "slots"));
  TRY(load.is_drained, fields.boolean_or("drained", false));
  CHECKED(fields.done());
  return load;
}

}  // namespace cluster
