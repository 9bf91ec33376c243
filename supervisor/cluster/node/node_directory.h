// NodeDirectory: the nodes of the cluster, as this node knows them. Each writes its description into the bucket `nodes`
// and publishes a sign of life each second on `w1.load.NODE`, with what its warderd has to do. Only nodes of the trust
// record count.
// Used by: home_directory.h, node_service.h. No errors: what cannot be read is dropped.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/link/view_messages.h"
#include "supervisor/cluster/node/bucket_follower.h"
#include "supervisor/cluster/node/node_settings.h"
#include "supervisor/cluster/placement/node_table.h"
#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

class NodeDirectory {
 public:
  // References must outlive the object.
  NodeDirectory(Loop& loop, Bus& bus, const NodeSettings& settings, std::string boot, const TrustRecord& trust);
  void begin();
  const NodeTable& table() const { return table_; }
  const TrustRecord& trust() const { return trust_; }
  // What warderd has to do; nullopt: warderd is not connected, and this node can take no work.
  void set_load(std::optional<NodeLoad> load);
  // The trust record has other nodes: forgets those that were removed, and reads the others again.
  void trust_changed();
  // The nodes to ask for a stateless execution of the account, one after the other (RunPlacement). `here_is_free`: a
  // slot is free at this node. Errors: unavailable: no node may take it, with the reasons.
  Result<std::vector<std::string>> slots_for(const std::string& account, bool here_is_free) const;
  void note_unanswered(const std::string& node) { table_.note_unanswered(node); }
  // The boot of a node; empty: not known.
  std::string boot_of(const std::string& node) const;
  // Whether an administrator asked for no new work at this node. The file `drained` in the state folder keeps it.
  bool is_drained() const { return is_drained_; }
  // Returns when the file and the description have it. Errors: those of the file; unavailable: the others do not know.
  Task<Result<>> set_drained(bool is_drained);
  // What a node speaks; not known: as this program.
  WireVersions wire_of(const std::string& node) const;

 private:
  Task<> describe_self();
  std::string description() const;
  Task<Result<>> write_description();
  Task<> follow_descriptions();
  Task<> follow_signs();
  Task<> send_signs();
  void take_change(const KvChange& change);
  void take_description(const std::string& node, std::string_view text);
  void take_sign(std::string_view subject, std::string_view text);
  NodeSign own_sign() const;
  void send_sign();

  Loop& loop_;
  Bus& bus_;
  const NodeSettings& settings_;
  const std::string boot_;
  const TrustRecord& trust_;
  NodeTable table_;
  bool is_drained_ = false;
  std::unique_ptr<WorkerThread> disk_;  // started by set_drained()
  std::optional<NodeLoad> load_;
  bool has_load_ = false;  // set_load() was called
  Scope following_;        // the bucket of descriptions
  Scope tasks_;            // last: cancelled first
};

}  // namespace cluster
