// `warder cluster rotate`: new keys of this node, or of the authority.
#include <fmt/format.h>
#include <sodium.h>

#include <cstdio>

#include "supervisor/base/log.h"
#include "supervisor/cluster/trust/join_request.h"
#include "supervisor/cluster/trust/private_file.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/cluster/cluster_folder.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

using cluster::kNextSuffix;

Result<> put_in_place(const std::string& path) {
  const std::string next = path + kNextSuffix;
  if (::rename(next.c_str(), path.c_str()) == 0) return {};
  return fail_errno(errno, fmt::format("rename {} to {}", next, path));
}

// The record has the new keys: the old ones go. A call that was interrupted between both files is finished, too.
Result<int> finish_node(const ClusterFolder& folder, const NodeNames& names, const ParsedCommand& command,
                        int64_t serial) {
  for (const char* file : {"nats.seed", "node.key"})  // node.key last: while it is there, the call can be repeated
    if (folder.has(std::string(file) + kNextSuffix)) CHECKED(put_in_place(folder.file(file)));
  if (command.json)
    print_json({{"node", names.node}, {"changed", true}, {"serial", serial}});
  else
    cli::print_text(stdout, fmt::format("{}: the trust record {} has the new keys; the old ones are removed. Restart "
                                        "warder-node, if it has not connected with the new ones\n",
                                        names.node, serial));
  return 0;
}

Result<int> rotate_node(const ParsedCommand& command) {
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  TRY(const NodeNames names, folder.read_names());
  TRY(const cluster::TrustRecord record, folder.read_trust());
  const cluster::TrustedNode* node = record.cluster == names.cluster ? record.find(names.node) : nullptr;
  if (!node)
    return fail(Code::not_found,
                fmt::format("{}: the trust record has no node '{}'", folder.file("trust.record"), names.node),
                "copy the newest record from the machine of the authority, or join first: warder cluster add");
  TRY(const cluster::PrivateKey in_force, cluster::load_own_key(folder.file("node.key"), *node));
  bool fresh = false;
  if (folder.has("node.key.next")) {
    TRY(const cluster::PrivateKey next, cluster::PrivateKey::load(folder.file("node.key.next")));
    if (next.public_key() == node->key) return finish_node(folder, names, command, record.serial);
  } else {
    CHECKED(folder.expect_missing({"nats.seed.next"}));
    fresh = true;
    if (auto written = write_node_keys(folder, NodeKeys::make(), kNextSuffix); !written) {
      folder.undo();
      return tl::unexpected<Error>(std::move(written).error().within("no keys were made"));
    }
  }
  TRY(const NodeKeys keys, read_node_keys(folder, kNextSuffix));
  cluster::JoinRequest request;
  request.cluster = names.cluster;
  request.node = names.node;
  request.nats = keys.nats_public;
  TRY(const std::string line, cluster::make_join_request(request, keys.key, &in_force));
  if (command.json) {
    print_json({{"node", names.node}, {"changed", false}, {"request", line}, {"new_keys", fresh}});
    return 0;
  }
  cli::print_text(stderr,
                  fmt::format("{}: {} in node.key.next and nats.seed.next; the old ones are in force until the trust "
                              "record has the new ones. On the machine with the authority's key call\n  warder cluster "
                              "add REQUEST\nwith this line; when its trust.record is here, call warder cluster rotate "
                              "node again\n",
                              names.node, fresh ? "new keys" : "the new keys of an earlier call"));
  cli::print_text(stdout, line + "\n");
  return 0;
}

// A call that ended after the record was written has left the key in FILE.next.
Result<> finish_authority(const ClusterFolder& folder, const cluster::TrustRecord& record) {
  const auto next = cluster::PrivateKey::load(folder.authority_file() + kNextSuffix);
  if (!next && next.error().code == Code::not_found) return {};
  if (!next) return tl::unexpected<Error>(next.error());
  if (record.has_authority(next->public_key())) return put_in_place(folder.authority_file());
  return fail(Code::invalid, folder.authority_file() + kNextSuffix + ": a key of a change that was not finished",
              "no record was signed with it: remove the file, then call again");
}

Result<int> rotate_authority(const ParsedCommand& command) {
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  TRY(cluster::TrustRecord record, folder.read_trust());
  CHECKED(finish_authority(folder, record));
  TRY(const cluster::PrivateKey old, folder.load_authority(record));
  const auto fresh = cluster::PrivateKey::generate();
  std::erase(record.authorities, old.public_key());
  record.authorities.push_back(fresh.public_key());
  if (record.introductions.size() >= cluster::kMaxIntroductions)
    record.introductions.erase(record.introductions.begin());
  record.introductions.push_back(cluster::introduce(record.cluster, fresh.public_key(), old));
  record.serial++;
  std::string secret = fresh.secret_text();
  auto written = folder.write_new(folder.authority_file() + kNextSuffix, secret, 0600);
  sodium_memzero(secret.data(), secret.size());
  CHECKED(written);
  if (auto record_written = folder.write_trust(record, fresh); !record_written)
    return tl::unexpected<Error>(std::move(record_written).error());
  CHECKED(put_in_place(folder.authority_file()));
  if (command.json) {
    print_json(
        {{"authority", fresh.public_key().text()}, {"replaces", old.public_key().text()}, {"serial", record.serial}});
    return 0;
  }
  cli::print_text(
      stdout,
      fmt::format("the authority's key is {}, in {}; the old one is removed\ntrust record {} in {}: copy it "
                  "to each node without the bus. Sign policies again with the new key\n",
                  fresh.public_key().text(), folder.authority_file(), record.serial, folder.file("trust.record")));
  return 0;
}

}  // namespace

Result<int> rotate_cluster_key(const ParsedCommand& command) {
  const std::string& subject = command.words.front();
  if (subject == "node") return rotate_node(command);
  if (subject == "authority") return rotate_authority(command);
  return fail(Code::invalid, fmt::format("'{}' is neither node nor authority", printable(subject, 64)),
              "warder cluster rotate node, or warder cluster rotate authority");
}
const ProgramOfCommand kRotateClusterKey{"cluster rotate", rotate_cluster_key};

}  // namespace admin
