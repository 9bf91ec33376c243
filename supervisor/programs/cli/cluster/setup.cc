// `warder cluster init` and `join`: new keys on this machine.
#include <fmt/format.h>
#include <sodium.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/trust/join_request.h"
#include "supervisor/cluster/trust/nats_config.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/cluster/cluster_folder.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

// "n1.example" of "tls://n1.example:4222".
std::string host_of(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  return url.substr(begin, url.rfind(':') - begin);
}

Result<> write_nats(ClusterFolder& folder, const NodeNames& names, const std::string& configuration) {
  cluster::NatsServer server{names.cluster + "-" + names.node,
                             "0.0.0.0:4222",
                             folder.file("tls"),
                             kNatsNodesFile,
                             "/var/lib/nats/jetstream",
                             {}};
  TRY(const Json document, parse_json(configuration));
  for (const Json& url : document["servers"]) server.hosts.push_back(host_of(url.get<std::string>()));
  return folder.write_new(folder.file("nats.conf"), cluster::nats_server_config(server), 0644);
}

// The files of a new cluster, in the order in which they are made.
Result<> write_cluster(ClusterFolder& folder, const NodeNames& names, const std::string& configuration) {
  const auto authority = cluster::PrivateKey::generate();
  const NodeKeys keys = NodeKeys::make();
  cluster::TrustRecord record;
  record.cluster = names.cluster;
  record.serial = 1;
  record.authorities = {authority.public_key()};
  record.nodes = {{names.node, keys.key.public_key(), keys.nats_public, {}}};
  TRY(const std::string signed_record, cluster::sign_trust(record, authority));
  CHECKED(write_node_keys(folder, keys, ""));
  CHECKED(folder.write_new(folder.file("node.json"), configuration, 0644));
  CHECKED(write_nats(folder, names, configuration));
  CHECKED(folder.write_new(folder.file(kNatsNodesFile), cluster::nats_users(record), 0644));
  std::string secret = authority.secret_text();
  auto written = folder.write_new(folder.authority_file(), secret, 0600);
  sodium_memzero(secret.data(), secret.size());
  CHECKED(written);
  return folder.write_new(folder.file("trust.record"), signed_record, 0644);
}

// With several servers of NATS, one of them may run here.
Result<> write_node(ClusterFolder& folder, const NodeNames& names, const std::string& configuration) {
  TRY(const Json document, parse_json(configuration));
  const bool has_several_servers = document["servers"].size() > 1;
  CHECKED(write_node_keys(folder, NodeKeys::make(), ""));
  if (has_several_servers) CHECKED(write_nats(folder, names, configuration));
  return folder.write_new(folder.file("node.json"), configuration, 0644);
}

// The keys that an earlier call made for the same node of the same cluster.
Result<> expect_same_node(const ClusterFolder& folder, const NodeNames& names) {
  TRY(const NodeNames present, folder.read_names());
  if (present.node == names.node && present.cluster == names.cluster) return {};
  return fail(Code::invalid,
              fmt::format("{}: this machine is the node '{}' of the cluster '{}' already", folder.file("node.json"),
                          present.node, present.cluster),
              "give these names to print its request again, or move the folder away first");
}

Result<int> print_request(const ClusterFolder& folder, const NodeNames& names, const ParsedCommand& command,
                          bool fresh) {
  TRY(const NodeKeys keys, read_node_keys(folder, ""));
  cluster::JoinRequest request;
  request.cluster = names.cluster;
  request.node = names.node;
  request.nats = keys.nats_public;
  TRY(const std::string line, cluster::make_join_request(request, keys.key, nullptr));
  if (command.json) {
    print_json({{"node", names.node},
                {"cluster", names.cluster},
                {"key", keys.key.public_key().text()},
                {"nats", keys.nats_public},
                {"request", line},
                {"new_keys", fresh}});
    return 0;
  }
  cli::print_text(
      stderr, fmt::format("{}: {} in {}. On the machine with the authority's key call\n  warder cluster add REQUEST\n"
                          "with this line, which has no secret; then copy trust.record from there to {}\n",
                          names.node, fresh ? "new keys" : "the keys of an earlier call, unchanged,", folder.file(""),
                          folder.file("trust.record")));
  cli::print_text(stdout, line + "\n");
  return 0;
}

}  // namespace

Result<int> init_cluster(const ParsedCommand& command) {
  NodeNames names;
  TRY(names.cluster, name_flag(command, "name"));
  TRY(names.node, name_flag(command, "node"));
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  CHECKED(folder.expect_missing({"authority.key", "node.key", "node.key.next", "nats.seed", "nats.seed.next",
                                 "trust.record", "node.json", "nats.conf", kNatsNodesFile}));
  TRY(const std::string configuration, node_configuration(folder, names, command));
  if (auto written = write_cluster(folder, names, configuration); !written) {
    folder.undo();
    return tl::unexpected<Error>(std::move(written).error().within("no cluster was made"));
  }
  if (command.json) {
    TRY(const cluster::TrustRecord record, folder.read_trust());
    print_json({{"cluster", names.cluster},
                {"node", names.node},
                {"folder", folder.file("")},
                {"authority", record.by.text()},
                {"authority_file", folder.authority_file()},
                {"serial", record.serial}});
    return 0;
  }
  cli::print_text(
      stdout,
      fmt::format(
          "cluster {0}: made, with this machine as its node {1}\n"
          "{2}\n  the authority's key. Its owner decides which machines may be nodes. Keep a copy in a safe place, "
          "and move it to the administrator's machine\n"
          "{3}\n{4}\n  this node's secret keys\n"
          "{5}\n  the nodes: record 1\n"
          "{6}\n  for warder-node\n"
          "{7}\n  for nats-server, with {8}: put a certificate into {9}, then nats-server -c {7} -t\n"
          "Another node: on it, warder cluster join --cluster {0} --node NAME; here, warder cluster add\n",
          names.cluster, names.node, folder.authority_file(), folder.file("node.key"), folder.file("nats.seed"),
          folder.file("trust.record"), folder.file("node.json"), folder.file("nats.conf"), kNatsNodesFile,
          folder.file("tls/")));
  return 0;
}
const ProgramOfCommand kInitCluster{"cluster init", init_cluster};

Result<int> join_cluster(const ParsedCommand& command) {
  NodeNames names;
  TRY(names.cluster, name_flag(command, "cluster"));
  TRY(names.node, name_flag(command, "node"));
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  if (folder.has("node.json")) {
    CHECKED(expect_same_node(folder, names));
    return print_request(folder, names, command, false);
  }
  CHECKED(folder.expect_missing({"node.key", "node.key.next", "nats.seed", "nats.seed.next", "nats.conf"}));
  TRY(const std::string configuration, node_configuration(folder, names, command));
  if (auto written = write_node(folder, names, configuration); !written) {
    folder.undo();
    return tl::unexpected<Error>(std::move(written).error().within("no keys were made"));
  }
  return print_request(folder, names, command, true);
}
const ProgramOfCommand kJoinCluster{"cluster join", join_cluster};

}  // namespace admin
