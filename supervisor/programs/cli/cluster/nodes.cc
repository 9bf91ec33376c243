// `warder cluster add`, `remove` and `show`: the trust record.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/trust/join_request.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/cluster/cluster_folder.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

using Accounts = std::optional<std::vector<std::string>>;

// "all", or accounts with commas between them.
Result<Accounts> parse_accounts(const std::string& text) {
  Accounts accounts;
  if (text == "all") return accounts;
  accounts.emplace();
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string account = text.substr(at, comma - at);
    if (!policies::valid_name(account))
      return fail(Code::invalid, fmt::format("--accounts: '{}' is no name of an account", printable(account, 64)),
                  "all, or names with commas between them: acme,web");
    accounts->push_back(account);
    at = comma + 1;
  }
  return accounts;
}

std::string accounts_text(const Accounts& accounts) {
  return accounts ? fmt::format("{}", fmt::join(*accounts, ",")) : "all";
}

Json node_json(const cluster::TrustedNode& node) {
  return {{"name", node.name},
          {"key", node.key.text()},
          {"nats", node.nats},
          {"may_act_for", node.accounts ? Json(*node.accounts) : Json("all")}};
}

// Puts the node of a request into the record. Errors: invalid: the name is taken; denied: the old key is another one.
Result<> put_node(cluster::TrustRecord& record, const cluster::JoinRequest& request, const ParsedCommand& command) {
  if (request.cluster != record.cluster)
    return fail(
        Code::invalid,
        fmt::format("cluster: the request is for the cluster '{}', and this is '{}'", request.cluster, record.cluster),
        "on the node: warder cluster join --cluster " + record.cluster);
  const auto it = std::find_if(record.nodes.begin(), record.nodes.end(),
                               [&](const auto& node) { return node.name == request.node; });
  if (it != record.nodes.end() && it->key == request.key)
    return fail(Code::invalid,
                fmt::format("node: '{}' is in the trust record {} with this key already", request.node, record.serial),
                "copy trust.record to it");
  if (it != record.nodes.end() && !request.replaces)
    return fail(Code::invalid, fmt::format("node: there is a node '{}' already, with another key", request.node),
                fmt::format("choose another name, or remove it first: warder cluster remove {0}; for new keys of {0}, "
                            "call warder cluster rotate node there",
                            request.node));
  if (request.replaces && (it == record.nodes.end() || it->key != *request.replaces))
    return fail(Code::denied,
                fmt::format("replaces: the node '{}' does not have the old key of this request", request.node),
                "warder cluster show prints the keys; a node that lost its key is removed, and joins again");
  Accounts accounts;
  if (it != record.nodes.end()) accounts = it->accounts;
  if (command.has("accounts")) {
    TRY(accounts, parse_accounts(command.value("accounts", "")));
  }
  cluster::TrustedNode node{request.node, request.key, request.nats, std::move(accounts)};
  if (it == record.nodes.end())
    record.nodes.push_back(std::move(node));
  else
    *it = std::move(node);
  return {};
}

void say_next_steps(const ClusterFolder& folder, const std::string& subject, int64_t serial) {
  cli::print_text(stdout,
                  fmt::format("{}: trust record {} in {}, in place of record {}\n  copy it to a new node; nodes with a "
                              "connection get it over the bus\n{}\n  copy it to each NATS server, then nats-server "
                              "--signal reload\n",
                              subject, serial, folder.file("trust.record"), serial - 1, folder.file(kNatsNodesFile)));
}

// Whether the keys of this machine are in the record, as a word for people and programs.
std::string own_state(const ClusterFolder& folder, const NodeNames& names, const cluster::TrustRecord& record) {
  const cluster::TrustedNode* node = record.find(names.node);
  if (names.cluster != record.cluster) return "of another cluster";
  if (!node) return "not in the record";
  const auto key = cluster::load_own_key(folder.file("node.key"), *node);
  if (!key) return key.error().code == Code::denied ? "with another key in the record" : "without a readable key";
  return folder.has("node.key.next") ? "in the record, its keys are being changed" : "in the record";
}

}  // namespace

Result<int> add_cluster_node(const ParsedCommand& command) {
  TRY(const cluster::JoinRequest request, cluster::read_join_request(command.words.front()));
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  TRY(cluster::TrustRecord record, folder.read_trust());
  TRY(const cluster::PrivateKey authority, folder.load_authority(record));
  CHECKED(put_node(record, request, command));
  record.serial++;
  CHECKED(folder.write_trust(record, authority));
  const auto* node = record.find(request.node);
  if (command.json) {
    Json report = node_json(*node);
    report["serial"] = record.serial;
    report["file"] = folder.file("trust.record");
    print_json(report);
    return 0;
  }
  say_next_steps(folder,
                 fmt::format("{}: {}, may act for {}", request.node, request.replaces ? "new keys" : "added",
                             accounts_text(node->accounts)),
                 record.serial);
  return 0;
}
const ProgramOfCommand kAddClusterNode{"cluster add", add_cluster_node};

Result<int> remove_cluster_node(const ParsedCommand& command) {
  const std::string& name = command.words.front();
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  TRY(cluster::TrustRecord record, folder.read_trust());
  TRY(const cluster::PrivateKey authority, folder.load_authority(record));
  const auto removed =
      std::remove_if(record.nodes.begin(), record.nodes.end(), [&](const auto& node) { return node.name == name; });
  if (removed == record.nodes.end())
    return fail(Code::not_found, fmt::format("the trust record has no node '{}'", printable(name, 64)),
                "warder cluster show prints the nodes");
  record.nodes.erase(removed, record.nodes.end());
  record.serial++;
  CHECKED(folder.write_trust(record, authority));
  if (command.json)
    print_json({{"name", name}, {"serial", record.serial}, {"file", folder.file("trust.record")}});
  else
    say_next_steps(folder, name + ": removed", record.serial);
  return 0;
}
const ProgramOfCommand kRemoveClusterNode{"cluster remove", remove_cluster_node};

Result<int> show_cluster(const ParsedCommand& command) {
  TRY(const ClusterFolder folder, ClusterFolder::open_to_read(command));
  TRY(const cluster::TrustRecord record, folder.read_trust());
  const auto names = folder.read_names();
  const auto authority = cluster::load_authority_key(folder.authority_file(), record);
  const std::string state = names ? own_state(folder, *names, record) : "no node";
  if (command.json) {
    Json nodes = Json::array(), authorities = Json::array();
    for (const auto& node : record.nodes) nodes.push_back(node_json(node));
    for (const auto& key : record.authorities) authorities.push_back(key.text());
    print_json({{"cluster", record.cluster},
                {"serial", record.serial},
                {"authorities", authorities},
                {"has_authority_key", authority.has_value()},
                {"this_node", names ? Json(names->node) : Json()},
                {"state", state},
                {"nodes", nodes}});
    return 0;
  }
  std::string text =
      fmt::format("cluster {}, trust record {}, signed by {}\n", record.cluster, record.serial, record.by.text());
  text += names ? fmt::format("this machine: the node {} of {}, {}\n", names->node, names->cluster, state)
                : "this machine: no node\n";
  text += authority ? "the authority's key is on this machine\n" : "the authority's key is not on this machine\n";
  cli::print_text(stdout, text);
  std::vector<Line> lines;
  for (const auto& node : record.nodes) lines.push_back({node.name, node.key.text(), accounts_text(node.accounts)});
  const std::vector<Column> columns = {{"NODE"}, {"KEY"}, {"MAY ACT FOR", Align::left, Fit::shrinks}};
  for (const auto& line : table(columns, lines, terminal_width())) cli::print_text(stdout, line + "\n");
  return 0;
}
const ProgramOfCommand kShowCluster{"cluster show", show_cluster};

}  // namespace admin
