// org.warder.Warder1.Cluster: its table and its methods: the cluster as this node knows it. State and name of this node
// are for every user. The nodes are shown to users that see all tenants: labels and homes tell the use of the
// machines. Of the homes, a tenant sees its own.
#include "supervisor/cluster/cluster_bus.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/log.h"
#include "supervisor/operations/bus/json_values.h"
#include "supervisor/records/journal/journal.h"

namespace cluster {
namespace {

using namespace bus;

constexpr uint32_t kMaxListed = 5000;  // nodes or homes of one answer
constexpr size_t kMaxPages = 1000;     // of warder-node, for one answer

// One shape for a node, in D-Bus and in --json.
Json node_row(const NodeView& node) {
  Json row = {{"Name", node.name},
              {"State", name_of(node.state)},
              {"Drained", node.is_drained},
              {"Labels", node.labels},
              {"Slots", node.slots},
              {"Used", node.used},
              {"Waiting", node.waiting},
              {"Homes", node.homes},
              {"Version", node.version},
              {"Boot", node.boot},
              {"WireOldest", node.wire_oldest},
              {"WireNewest", node.wire_newest}};
  if (node.silent_for) row["SilentUSec"] = static_cast<uint64_t>(node.silent_for->count());
  return row;
}

Json home_row(const HomeView& home) {
  return {{"Key", home.key},
          {"Tenant", home.account},
          {"Workspace", home.workspace},
          {"Node", home.node},
          {"Epoch", home.epoch}};
}

// The names of Execution's properties. The time of the request is by this machine's clock.
Json execution_row(const std::string& node, const FarExecution& execution, uint64_t now_us) {
  Json row = {{"Node", node},
              {"Id", execution.id},
              {"Tenant", execution.tenant},
              {"Language", execution.language},
              {"Workspace", execution.workspace},
              {"State", execution.state},
              {"Policy", execution.policy},
              {"Principal", execution.principal},
              {"Background", execution.is_background},
              {"AskedUSec", now_us - std::min(now_us, execution.age_us)}};
  if (execution.wall_us) row["WallUSec"] = *execution.wall_us;
  if (execution.cpu_us) row["CPUUSec"] = *execution.cpu_us;
  if (execution.memory_bytes) row["MemoryBytes"] = *execution.memory_bytes;
  return row;
}

// The filter of ListHomes: Tenant, Node, After, all texts.
Result<HomeQuestion> read_home_filter(sd_bus_message* call) {
  HomeQuestion question;
  int r = sd_bus_message_enter_container(call, 'a', "{sv}");
  while (r > 0 && (r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
    const char *key = nullptr, *value = nullptr;
    if (sd_bus_message_read(call, "s", &key) < 0) break;
    const std::string name = key;
    if (sd_bus_message_read(call, "v", "s", &value) < 0)
      return fail(Code::invalid, "filter: " + name.substr(0, 64) + " is not a text (s)",
                  "see org.warder.Warder1.Cluster.ListHomes");
    const std::string text = value;
    if (name == "Tenant" && policies::valid_name(text)) {
      question.account = text;
    } else if (name == "Node" && is_node_name(text)) {
      question.node = text;
    } else if (name == "After" && text.size() <= 255) {
      question.after = text;
    } else {
      return fail(Code::invalid, "filter: a key other than Tenant, Node or After, or a wrong name as its value",
                  "see org.warder.Warder1.Cluster.ListHomes");
    }
    r = sd_bus_message_exit_container(call);
    if (r >= 0) r = 1;
  }
  if (r < 0) return fail_errno(-r, "read the filter", Code::invalid);
  r = sd_bus_message_exit_container(call);
  if (r < 0) return fail_errno(-r, "read the filter", Code::invalid);
  return question;
}

Result<> check(const JoinedCluster& cluster) {
  if (cluster.membership) return {};
  return fail(Code::unavailable, "this machine is in no cluster: the configuration of warderd has no key \"cluster\"",
              "make one with warder cluster init, or join one: warder cluster join");
}

size_t max_of(uint32_t limit) { return limit == 0 ? kMaxListed : std::min(limit, kMaxListed); }

Task<Result<MessagePtr>> listed(MessagePtr call, Json rows, std::string next) {
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append_objects(reply.get(), rows);
  if (r >= 0) r = append(reply.get(), next);
  if (r < 0) co_return fail_errno(-r, "answer with the cluster");
  co_return reply;
}

Task<Result<MessagePtr>> list_nodes(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  const char* after_text = nullptr;
  uint32_t limit = 0;
  if (int r = sd_bus_message_read(call.get(), "su", &after_text, &limit); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  std::string next = after_text;
  if (!next.empty() && !is_node_name(next)) co_return fail(Code::invalid, "after: not the name of a node");
  CO_TRY(const Viewer viewer, co_await authority.view(share(call.get())));
  if (!viewer.sees_all)
    co_return fail(Code::denied, "the nodes of the cluster need the right to see all tenants",
                   "call as root, the daemon's user, or a member of warder-operator");
  CO_CHECKED(check(cluster));
  const size_t max = max_of(limit);
  Json rows = Json::array();
  for (size_t pages = 0; pages < kMaxPages && rows.size() < max; pages++) {
    CO_TRY(const NodePage page, co_await cluster.membership->link().nodes_after(next));
    next = page.next;
    for (const auto& node : page.nodes) {
      if (rows.size() == max) break;
      rows.push_back(node_row(node));
    }
    if (rows.size() == max && (!page.next.empty() || page.nodes.back().name != rows.back()["Name"]))
      next = rows.back()["Name"].get<std::string>();
    if (next.empty()) break;
  }
  auto reply = co_await listed(std::move(call), std::move(rows), std::move(next));
  co_return reply;
}

Task<Result<MessagePtr>> list_homes(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  CO_TRY(HomeQuestion question, read_home_filter(call.get()));
  uint32_t limit = 0;
  if (int r = sd_bus_message_read(call.get(), "u", &limit); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  CO_TRY(const Viewer viewer, co_await authority.view(share(call.get())));
  if (!viewer.sees_all) {
    if (viewer.tenant.empty() || (!question.account.empty() && question.account != viewer.tenant))
      co_return fail(Code::denied, "the homes of other tenants need the right to see all tenants",
                     "call as root, the daemon's user, or a member of warder-operator");
    question.account = viewer.tenant;
  }
  CO_CHECKED(check(cluster));
  const size_t max = max_of(limit);
  Json rows = Json::array();
  for (size_t pages = 0; pages < kMaxPages && rows.size() < max; pages++) {
    CO_TRY(const HomePage page, co_await cluster.membership->link().homes(question));
    question.after = page.next;
    for (const auto& home : page.homes) {
      if (rows.size() == max) break;
      rows.push_back(home_row(home));
    }
    if (rows.size() == max && (!page.next.empty() || page.homes.back().key != rows.back()["Key"]))
      question.after = rows.back()["Key"].get<std::string>();
    if (question.after.empty()) break;
  }
  auto reply = co_await listed(std::move(call), std::move(rows), std::move(question.after));
  co_return reply;
}

// On another node an account without a shared policy is another user with the same name.
Task<Result<MessagePtr>> list_cluster_executions(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  CO_TRY(const Viewer viewer, co_await authority.view(share(call.get())));
  CO_CHECKED(check(cluster));
  CO_TRY(const auto match, co_await cluster.queries->executions_of_all());
  const std::string self = cluster.membership->link().node();
  const auto now_us = static_cast<uint64_t>(journal::now_ms()) * 1000;
  Json rows = Json::array();
  for (const auto& [node, execution] : match->executions) {
    const bool is_own = viewer.sees(execution.tenant) && (execution.is_shared || node == self);
    if (viewer.sees_all || is_own) rows.push_back(execution_row(node, execution, now_us));
  }
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append_objects(reply.get(), rows);
  const bool sees_all = viewer.sees_all;  // names of nodes, and numbers of all tenants
  if (r >= 0) r = append(reply.get(), sees_all ? match->unanswered : decltype(match->unanswered)());
  if (r >= 0) r = append(reply.get(), sees_all ? match->left_out : decltype(match->left_out)());
  if (r < 0) co_return fail_errno(-r, "list the executions of the cluster");
  co_return reply;
}

Result<std::pair<std::string, std::string>> read_two_texts(sd_bus_message* call) {
  const char *first = nullptr, *second = nullptr;
  if (int r = sd_bus_message_read(call, "ss", &first, &second); r < 0)
    return fail_errno(-r, "read the arguments", Code::invalid);
  return std::pair(std::string(first), std::string(second));
}

Task<Result<MessagePtr>> answer_text(MessagePtr call, std::string text) {
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = append(reply.get(), text); r < 0) co_return fail_errno(-r, "answer");
  co_return reply;
}

Task<Result<MessagePtr>> drain_node(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  int drained = 0;
  if (int r = sd_bus_message_read(call.get(), "b", &drained); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  CO_TRY(const auto caller, co_await authority.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} {} this node", caller.uid, drained != 0 ? "drains" : "undrains");
  CO_CHECKED(check(cluster));
  CO_TRY(const auto homes, co_await cluster.moves->set_drained(drained != 0));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = append(reply.get(), homes); r < 0) co_return fail_errno(-r, "list the homes");
  co_return reply;
}

Task<Result<MessagePtr>> move_home(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  CO_TRY(auto words, read_two_texts(call.get()));
  CO_TRY(const auto caller, co_await authority.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} moves the workspace {} to node {}", caller.uid, printable(words.first, 140),
             words.second.empty() ? "any" : printable(words.second, 40));
  CO_CHECKED(check(cluster));
  CO_TRY(const std::string node, co_await cluster.moves->move(std::move(words.first), std::move(words.second)));
  auto reply = co_await answer_text(std::move(call), node);
  co_return reply;
}

Task<Result<MessagePtr>> park_home(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  CO_TRY(auto words, read_two_texts(call.get()));
  CO_TRY(const auto caller, co_await authority.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} parks the workspace {}", caller.uid, printable(words.first, 140));
  CO_CHECKED(check(cluster));
  CO_TRY(const std::string file, co_await cluster.moves->park(std::move(words.first), std::move(words.second)));
  auto reply = co_await answer_text(std::move(call), file);
  co_return reply;
}

Task<Result<MessagePtr>> restore_home(const JoinedCluster& cluster, MessagePtr call, Authority& authority) {
  const char* text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &text); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  std::string file(text);
  CO_TRY(const auto caller, co_await authority.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} restores a workspace from {}", caller.uid, printable(file));
  CO_CHECKED(check(cluster));
  CO_TRY(const SnapshotLabel restored, co_await cluster.moves->receiver().restore(std::move(file)));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append(reply.get(), tenants::TenantId{restored.account, restored.workspace}.text());
  if (r >= 0) r = append(reply.get(), restored.node);
  if (r >= 0) r = append(reply.get(), static_cast<uint64_t>(restored.created_ms) * 1000);
  if (r < 0) co_return fail_errno(-r, "answer");
  co_return reply;
}

}  // namespace

void add_bus_members(bus::OfferedMembers& members, const JoinedCluster& cluster) {
  members.add_property("State", [&cluster] {
    return std::string(name_of(cluster.membership ? cluster.membership->link().standing() : Standing::no_cluster));
  });
  members.add_property("Self",
                       [&cluster] { return cluster.membership ? cluster.membership->link().node() : std::string(); });
  const auto with_cluster = [&cluster](auto handler) {
    return [&cluster, handler](MessagePtr call, Authority& authority) {
      return handler(cluster, std::move(call), authority);
    };
  };
  members.add_method("ListNodes", {{"s", "after"}, {"u", "limit"}}, {{"aa{sv}", "nodes"}, {"s", "next"}},
                     with_cluster(list_nodes));
  members.add_method("ListHomes", {{"a{sv}", "filter"}, {"u", "limit"}}, {{"aa{sv}", "homes"}, {"s", "next"}},
                     with_cluster(list_homes));
  members.add_method("ListClusterExecutions", {}, {{"aa{sv}", "executions"}, {"as", "unanswered"}, {"t", "left_out"}},
                     with_cluster(list_cluster_executions));
  members.add_method("SetDrained", {{"b", "drained"}}, {{"as", "homes"}}, with_cluster(drain_node));
  members.add_method("Move", {{"s", "workspace"}, {"s", "node"}}, {{"s", "node"}}, with_cluster(move_home));
  members.add_method("Park", {{"s", "workspace"}, {"s", "folder"}}, {{"s", "file"}}, with_cluster(park_home));
  members.add_method("Restore", {{"s", "file"}}, {{"s", "workspace"}, {"s", "node"}, {"t", "made_usec"}},
                     with_cluster(restore_home));
}

}  // namespace cluster
