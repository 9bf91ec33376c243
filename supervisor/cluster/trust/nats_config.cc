#include "supervisor/cluster/trust/nats_config.h"

#include <fmt/format.h>

#include <vector>

namespace cluster {
namespace {

constexpr const char* kBuckets[] = {"nodes", "homes", "leases", "trust", "rules"};
// Snapshots of workspaces, in the layout of JetStream's object store.
constexpr char kObjects[] = "snapshots";

// What a client of JetStream asks about one stream. It can neither change nor empty it as a whole.
void add_stream(std::vector<std::string>& subjects, const std::string& stream) {
  for (const char* call : {"STREAM.INFO", "STREAM.CREATE", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE",
                           "CONSUMER.NAMES", "CONSUMER.LIST"})
    subjects.push_back(fmt::format("$JS.API.{}.{}", call, stream));
  for (const char* call : {"DIRECT.GET", "CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.DELETE",
                           "CONSUMER.INFO", "CONSUMER.MSG.NEXT"})
    subjects.push_back(fmt::format("$JS.API.{}.{}.>", call, stream));
  subjects.push_back(fmt::format("$JS.ACK.{}.>", stream));
  subjects.push_back(fmt::format("$JS.FC.{}.>", stream));
}

std::vector<std::string> publish_subjects(const std::string& node) {
  std::vector<std::string> subjects = {
      "w1.node.*", "w1.node.*.>",  "w1.load." + node,     "w1.from." + node, "w1.from." + node + ".>",
      "_INBOX.>",  "$JS.API.INFO", "$JS.API.STREAM.NAMES" /* libnats looks up the stream of a watch */};
  for (const std::string bucket : kBuckets) {
    add_stream(subjects, "KV_" + bucket);
    const bool own_only = bucket == "nodes" || bucket == "leases";
    subjects.push_back(fmt::format("$KV.{}.{}", bucket, own_only ? node : ">"));
    if (own_only) subjects.push_back(fmt::format("$KV.{}.{}.>", bucket, node));
  }
  add_stream(subjects, fmt::format("OBJ_{}", kObjects));
  subjects.push_back(fmt::format("$JS.API.STREAM.PURGE.OBJ_{}", kObjects));  // the chunks of a removed object
  subjects.push_back(fmt::format("$O.{}.>", kObjects));
  return subjects;
}

std::vector<std::string> subscribe_subjects(const std::string& node) {
  return {"w1.node." + node, "w1.node." + node + ".>", "w1.load.*", "w1.from.*",
          "w1.from.*.>",     "_INBOX." + node + ".>"};
}

std::string subject_list(const std::vector<std::string>& subjects) {
  std::string text = "[";
  for (size_t i = 0; i < subjects.size(); i++)
    text += fmt::format("{}{}\"{}\"", i == 0 ? "" : ",", i % 4 == 0 ? "\n          " : " ", subjects[i]);
  return text + "\n        ]";
}

// In quotes, as nats-server reads text.
std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + "\"";
}

// The servers connect to each other; each has a certificate that is good for a server and for a client.
std::string routes(const NatsServer& server) {
  if (server.hosts.size() < 2) return {};
  std::string list;
  for (const std::string& host : server.hosts)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", quoted(fmt::format("nats-route://{}:6222", host)));
  return fmt::format(
      R"(cluster {{
  name: "warder"
  listen: "0.0.0.0:6222"
  routes: [{}]
  tls {{
    cert_file: {}
    key_file: {}
    ca_file: {}
  }}
}}
)",
      list, quoted(server.tls_folder + "/server.pem"), quoted(server.tls_folder + "/server.key"),
      quoted(server.tls_folder + "/ca.pem"));
}

}  // namespace

std::string nats_server_config(const NatsServer& server) {
  return fmt::format(
      R"(# nats-server for the nodes of a Warder cluster, made by `warder cluster init`. Yours to change.
# Check it: nats-server -c THIS_FILE -t. The folder of tls {{}} needs a certificate for the name in the nodes' servers.
server_name: {}
listen: {}
# A node that hangs is noticed after some 3 s; the default is 4 minutes.
ping_interval: "1s"
ping_max: 2
jetstream {{
  store_dir: {}
  max_file_store: 10G
}}
tls {{
  cert_file: {}
  key_file: {}
  ca_file: {}
}}
{}accounts {{
  WARDER {{
    jetstream: enabled
    include {}
  }}
}}
)",
      quoted(server.name), quoted(server.listen), quoted(server.store), quoted(server.tls_folder + "/server.pem"),
      quoted(server.tls_folder + "/server.key"), quoted(server.tls_folder + "/ca.pem"), routes(server),
      quoted(server.nodes_file));
}

std::string nats_users(const TrustRecord& record) {
  std::string text = fmt::format(
      "# The nodes of the cluster {}, of its trust record {}. Made by `warder cluster`, which replaces this file.\n"
      "# After a change: copy it to each server, then nats-server --signal reload.\n"
      "users: [\n",
      record.cluster, record.serial);
  for (const auto& node : record.nodes)
    text += fmt::format(
        "  {{ # {}\n    nkey: {}\n    permissions: {{\n      publish: {{\n        allow: {}\n      }}\n      "
        "subscribe: {{\n"
        "        allow: {}\n      }}\n    }}\n  }}\n",
        node.name, node.nats, subject_list(publish_subjects(node.name)), subject_list(subscribe_subjects(node.name)));
  return text + "]\n";
}

}  // namespace cluster
