// `warder nodes`: the cluster as the daemon of this machine knows it.
#include <fmt/format.h>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr size_t kMaxNodesShown = 100'000;

// Why no node can be listed; ok: they can.
Result<> check_standing(const std::string& state) {
  if (state == "not in a cluster")
    return fail(Code::not_found, "this machine is in no cluster: the configuration of warderd has no key \"cluster\"",
                "make a cluster with warder cluster init, or join one with warder cluster join");
  if (state == "no warder-node")
    return fail(
        Code::not_found, "warder-node is not connected to warderd, so the cluster is not known",
        "install the package warder-cluster if it is missing; systemctl status warder-node says why; journalctl "
        "--unit=warder-node");
  return {};
}

std::string labels_text(const Json& labels) {
  std::string all;
  if (labels.is_object())
    for (const auto& [name, value] : labels.items())
      all += fmt::format("{}{}={}", all.empty() ? "" : ",", name, text(value));
  return all.empty() ? "-" : all;
}

std::string state_text(const Json& node) {
  const std::string state = text(node, "State");
  return member(node, "Drained") == true && state != "drained" ? state + ", drained" : state;
}

std::string heard_text(const Json& node) {
  if (text(node, "State") == "here") return "-";
  const auto silent = known_number(node, "SilentUSec");
  return silent ? usec_text(*silent) + " ago" : "never";
}

Result<std::vector<Json>> list_cluster_nodes(const BusClient& warderd) {
  std::vector<Json> nodes;
  for (std::string after; nodes.size() < kMaxNodesShown;) {
    TRY(const Json answer, warderd.read(kPath, kCluster, "ListNodes", [&after](sd_bus_message* to) {
      return sd_bus_message_append(to, "su", after.c_str(), 0U);
    }));
    for (const Json& node : element(answer, 0)) nodes.push_back(node);
    after = text(element(answer, 1));
    if (after.empty()) break;
  }
  return nodes;
}

}  // namespace

Result<int> run_nodes(const ParsedCommand& command) {
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json own, warderd.properties(kPath, kCluster));
  CHECKED(check_standing(text(own, "State")));
  TRY(const auto nodes, list_cluster_nodes(warderd));
  if (command.json) {
    print_json({{"State", text(own, "State")}, {"Self", text(own, "Self")}, {"Nodes", nodes}});
    return 0;
  }
  const std::vector<Column> columns = {{"NODE"},
                                       {"STATE"},
                                       {"LABELS", Align::left, Fit::shrinks},
                                       {"USED/SLOTS", Align::right},
                                       {"HOMES", Align::right},
                                       {"VERSION"},
                                       {"LAST HEARD"}};
  std::vector<Line> lines;
  for (const Json& node : nodes) {
    const bool is_known = !text(node, "Boot").empty();
    lines.push_back({text(node, "Name"), state_text(node), labels_text(member(node, "Labels")),
                     is_known ? fmt::format("{}/{}", number(node, "Used"), number(node, "Slots")) : "-",
                     std::to_string(number(node, "Homes")), is_known ? text(node, "Version") : "-", heard_text(node)});
  }
  for (const auto& line : table(columns, lines, terminal_width())) cli::print_text(stdout, line + "\n");
  if (text(own, "State") == "fenced")
    cli::print_text(stderr, fmt::format("this node, {}, is fenced: it cannot reach the cluster, and refuses work for "
                                        "shared workspaces\n",
                                        text(own, "Self")));
  return 0;
}
const ProgramOfCommand kRunNodes{"nodes", run_nodes};

}  // namespace admin
