// NodeDirectory: the nodes of the cluster, as this node knows them. Each writes its description into the bucket `nodes`
// and publishes a sign of life each second on `w1.load.NODE`. Only nodes of the trust record count.
// Used by: home_directory.h, node_service.h. No errors: what cannot be read is dropped.
#pragma once
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
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
  // The boot of a node; empty: not known.
  std::string boot_of(const std::string& node) const;
  // What a node speaks; not known: as this program.
  WireVersions wire_of(const std::string& node) const;

 private:
  Task<> describe_self();
  Task<> follow_descriptions();
  Task<> follow_signs();
  Task<> send_signs();
  void take_description(const std::string& node, std::string_view text);
  void take_sign(std::string_view subject, std::string_view text);

  Loop& loop_;
  Bus& bus_;
  const NodeSettings& settings_;
  const std::string boot_;
  const TrustRecord& trust_;
  NodeTable table_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
