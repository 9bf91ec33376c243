// ClusterFolder: the files of a cluster on one machine, by default in /etc/warder/cluster:
//   authority.key   the private key of the authority, 0600; on the administrator's machine only (--authority)
//   node.key        this node's private key, 0600
//   nats.seed       the seed of this node's NATS key, 0600
//   trust.record    the list of nodes (supervisor/cluster/trust/trust_record.h)
//   policy-*.rule   signed policies (supervisor/cluster/trust/signed_rule.h); catalog-*.rule, skill-*.rule likewise
//   node.json       the configuration of warder-node
//   nats.conf       of nats-server, made once; nats-nodes.conf, which it includes, made for each trust record
// During its change, a key has a second file, node.key.next (supervisor/cluster/trust/own_keys.h).
// One command at a time changes the files: a lock on the folder. Used by: the commands of this folder. Errors: invalid,
// naming the flag or the file; denied: another user could write the folder; those of private_file.h.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/trust/own_keys.h"
#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kNatsNodesFile[] = "nats-nodes.conf";

// What node.json says of this node.
struct NodeNames {
  std::string node, cluster;
};

class ClusterFolder {
 public:
  // For a command that changes files: makes the folder if it is missing, and waits for other commands.
  static Result<ClusterFolder> open_to_change(const ParsedCommand& command);
  static Result<ClusterFolder> open_to_read(const ParsedCommand& command);

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& authority_file() const { return authority_; }
  bool has(const std::string& name) const;
  // Errors: invalid, naming the first file that exists already.
  Result<> expect_missing(const std::vector<std::string>& names) const;

  // not_found: with the commands that make it.
  Result<cluster::TrustRecord> read_trust() const;
  Result<NodeNames> read_names() const;
  Result<cluster::PrivateKey> load_authority(const cluster::TrustRecord& record) const;

  // Writes a new file. If a later step fails, undo() removes all files that this object has written.
  Result<> write_new(const std::string& path, std::string_view text, mode_t mode);
  void undo();
  // Signs the record and writes it over the last one; writes the users of nats-server again.
  Result<> write_trust(const cluster::TrustRecord& record, const cluster::PrivateKey& authority) const;

 private:
  std::string folder_, authority_;
  Fd lock_;
  std::vector<std::string> written_;
};

// Keys of a node as they are made: a node key and a NATS key. Secrets are wiped at the end.
struct NodeKeys {
  cluster::PrivateKey key = cluster::PrivateKey::generate();
  std::string nats_seed, nats_public;
  static NodeKeys make();
  NodeKeys() = default;
  NodeKeys(NodeKeys&&) = default;
  ~NodeKeys();
};
// Writes node.key and nats.seed, with `suffix` at their ends.
Result<> write_node_keys(ClusterFolder& folder, const NodeKeys& keys, const std::string& suffix);
// Reads them. `nats_seed` is checked.
Result<NodeKeys> read_node_keys(const ClusterFolder& folder, const std::string& suffix);

// The text of node.json. Errors: invalid, naming the flag.
Result<std::string> node_configuration(const ClusterFolder& folder, const NodeNames& names,
                                       const ParsedCommand& command);
// A flag with the name of a node or a cluster. Errors: invalid: it is missing, or the text is no name.
Result<std::string> name_flag(const ParsedCommand& command, const char* flag);

}  // namespace admin
