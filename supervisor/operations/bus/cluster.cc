// org.warder.Warder1.Cluster: its table and its methods: the cluster as this node knows it. State and name of this node
// are for every user. The nodes are shown to users that see all tenants: labels and homes tell the use of the
// machines. Of the homes, a tenant sees its own.
#include <fmt/format.h>

#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/log.h"
#include "supervisor/operations/bus/bus_objects.h"
#include "supervisor/operations/bus/json_values.h"

namespace bus {
namespace {

constexpr uint32_t kMaxListed = 5000;  // nodes or homes of one answer
constexpr size_t kMaxPages = 1000;     // of warder-node, for one answer

int get_standing(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  const auto& services = static_cast<BusObjects*>(data)->services();
  return append(reply, std::string(cluster::name_of(services.cluster.standing())));
}

int get_self(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return append(reply, static_cast<BusObjects*>(data)->services().cluster.self());
}

// One shape for a node, in D-Bus and in --json.
Json node_row(const cluster::NodeView& node) {
  Json row = {{"Name", node.name},
              {"State", cluster::name_of(node.state)},
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

Json home_row(const cluster::HomeView& home) {
  return {{"Key", home.key},
          {"Tenant", home.account},
          {"Workspace", home.workspace},
          {"Node", home.node},
          {"Epoch", home.epoch}};
}

// The names of Execution's properties. The time of the request is by this machine's clock.
Json execution_row(const std::string& node, const cluster::FarExecution& execution, uint64_t now_us) {
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
Result<cluster::HomeQuestion> read_home_filter(sd_bus_message* call) {
  cluster::HomeQuestion question;
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
    } else if (name == "Node" && cluster::is_node_name(text)) {
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

size_t max_of(uint32_t limit) { return limit == 0 ? kMaxListed : std::min(limit, kMaxListed); }

Task<Result<MessagePtr>> listed(MessagePtr call, Json rows, std::string next) {
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append_objects(reply.get(), rows);
  if (r >= 0) r = append(reply.get(), next);
  if (r < 0) co_return fail_errno(-r, "answer with the cluster");
  co_return reply;
}

}  // namespace

const sd_bus_vtable kClusterTable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("State", "s", get_standing, 0, 0),
    SD_BUS_PROPERTY("Self", "s", get_self, 0, 0),
    SD_BUS_METHOD_WITH_ARGS("ListNodes", SD_BUS_ARGS("s", after, "u", limit), SD_BUS_RESULT("aa{sv}", nodes, "s", next),
                            handle<&BusObjects::list_nodes>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("ListHomes", SD_BUS_ARGS("a{sv}", filter, "u", limit),
                            SD_BUS_RESULT("aa{sv}", homes, "s", next), handle<&BusObjects::list_homes>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("ListClusterExecutions", SD_BUS_NO_ARGS,
                            SD_BUS_RESULT("aa{sv}", executions, "as", unanswered, "t", left_out),
                            handle<&BusObjects::list_cluster_executions>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("SetDrained", SD_BUS_ARGS("b", drained), SD_BUS_RESULT("as", homes),
                            handle<&BusObjects::drain_node>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Move", SD_BUS_ARGS("s", workspace, "s", node), SD_BUS_RESULT("s", node),
                            handle<&BusObjects::move_home>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Park", SD_BUS_ARGS("s", workspace, "s", folder), SD_BUS_RESULT("s", file),
                            handle<&BusObjects::park_home>, kEveryone),
    SD_BUS_METHOD_WITH_ARGS("Restore", SD_BUS_ARGS("s", file), SD_BUS_RESULT("s", workspace, "s", node, "t", made_usec),
                            handle<&BusObjects::restore_home>, kEveryone),
    SD_BUS_VTABLE_END,
};

Task<Result<MessagePtr>> BusObjects::list_nodes(MessagePtr call) {
  const char* after_text = nullptr;
  uint32_t limit = 0;
  if (int r = sd_bus_message_read(call.get(), "su", &after_text, &limit); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  std::string next = after_text;
  if (!next.empty() && !cluster::is_node_name(next)) co_return fail(Code::invalid, "after: not the name of a node");
  CO_TRY(const Viewer viewer, co_await authority_.view(share(call.get())));
  if (!viewer.sees_all)
    co_return fail(Code::denied, "the nodes of the cluster need the right to see all tenants",
                   "call as root, the daemon's user, or a member of warder-operator");
  const size_t max = max_of(limit);
  Json rows = Json::array();
  for (size_t pages = 0; pages < kMaxPages && rows.size() < max; pages++) {
    CO_TRY(const cluster::NodePage page, co_await services_.cluster.nodes_after(next));
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

Task<Result<MessagePtr>> BusObjects::list_homes(MessagePtr call) {
  CO_TRY(cluster::HomeQuestion question, read_home_filter(call.get()));
  uint32_t limit = 0;
  if (int r = sd_bus_message_read(call.get(), "u", &limit); r < 0)
    co_return fail_errno(-r, "read the arguments", Code::invalid);
  CO_TRY(const Viewer viewer, co_await authority_.view(share(call.get())));
  if (!viewer.sees_all) {
    if (viewer.tenant.empty() || (!question.account.empty() && question.account != viewer.tenant))
      co_return fail(Code::denied, "the homes of other tenants need the right to see all tenants",
                     "call as root, the daemon's user, or a member of warder-operator");
    question.account = viewer.tenant;
  }
  const size_t max = max_of(limit);
  Json rows = Json::array();
  for (size_t pages = 0; pages < kMaxPages && rows.size() < max; pages++) {
    CO_TRY(const cluster::HomePage page, co_await services_.cluster.homes(question));
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
Task<Result<MessagePtr>> BusObjects::list_cluster_executions(MessagePtr call) {
  CO_TRY(const Viewer viewer, co_await authority_.view(share(call.get())));
  CO_TRY(const auto match, co_await services_.cluster.executions());
  const std::string self = services_.cluster.self();
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

namespace {

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

}  // namespace

Task<Result<MessagePtr>> BusObjects::drain_node(MessagePtr call) {
  int drained = 0;
  if (int r = sd_bus_message_read(call.get(), "b", &drained); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  CO_TRY(const auto caller, co_await authority_.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} {} this node", caller.uid, drained != 0 ? "drains" : "undrains");
  CO_TRY(const auto homes, co_await services_.cluster.set_drained(drained != 0));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  if (int r = append(reply.get(), homes); r < 0) co_return fail_errno(-r, "list the homes");
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::move_home(MessagePtr call) {
  CO_TRY(auto words, read_two_texts(call.get()));
  CO_TRY(const auto caller, co_await authority_.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} moves the workspace {} to node {}", caller.uid, printable(words.first, 140),
             words.second.empty() ? "any" : printable(words.second, 40));
  CO_TRY(const std::string node, co_await services_.cluster.move(std::move(words.first), std::move(words.second)));
  auto reply = co_await answer_text(std::move(call), node);
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::park_home(MessagePtr call) {
  CO_TRY(auto words, read_two_texts(call.get()));
  CO_TRY(const auto caller, co_await authority_.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} parks the workspace {}", caller.uid, printable(words.first, 140));
  CO_TRY(const std::string file, co_await services_.cluster.park(std::move(words.first), std::move(words.second)));
  auto reply = co_await answer_text(std::move(call), file);
  co_return reply;
}

Task<Result<MessagePtr>> BusObjects::restore_home(MessagePtr call) {
  const char* text = nullptr;
  if (int r = sd_bus_message_read(call.get(), "s", &text); r < 0)
    co_return fail_errno(-r, "read the argument", Code::invalid);
  std::string file(text);
  CO_TRY(const auto caller, co_await authority_.allow(call.get(), Right::configure));
  log_notice("D-Bus: user {} restores a workspace from {}", caller.uid, printable(file));
  CO_TRY(const RestoredHome restored, co_await services_.cluster.restore(std::move(file)));
  CO_TRY(MessagePtr reply, reply_to(call.get()));
  int r = append(reply.get(), restored.workspace);
  if (r >= 0) r = append(reply.get(), restored.node);
  if (r >= 0) r = append(reply.get(), static_cast<uint64_t>(restored.created_ms) * 1000);
  if (r < 0) co_return fail_errno(-r, "answer");
  co_return reply;
}

}  // namespace bus
