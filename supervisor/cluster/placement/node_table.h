// NodeTable: the last report of each node, as one node knows them. Plain data without I/O.
// Source: the bucket `nodes` and the load in answers of other nodes. Used by: place.h, node_directory.h.
// A report is checked for its form and its signature before it comes here.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/cluster/placement/boot_clock.h"

namespace cluster {

using NodeLabels = std::map<std::string, std::string>;

// The versions of the protocol between nodes that a program speaks: all from `oldest` to `newest`.
struct WireVersions {
  uint32_t oldest = 1;
  uint32_t newest = 1;

  constexpr bool overlaps(const WireVersions& other) const { return oldest <= other.newest && other.oldest <= newest; }
};

// The versions that this program speaks.
constexpr WireVersions kWire{1, 1};

struct NodeReport {
  std::string name;  // "n1"
  NodeLabels labels;
  uint32_t slots = 0;    // executions that may run at the same time; a node with 0 gets no work
  uint32_t used = 0;     // executions that run; not limited by `slots`: work of homes may exceed it
  uint32_t waiting = 0;  // executions that wait for a slot
  std::string version;   // of the program, for people: "0.1.0"
  WireVersions wire;
  bool drained = false;                 // an administrator asked for no new work
  std::string boot;                     // random id of this start of the daemon
  BootClock::time_point received = {};  // by the clock of the node that keeps the table
  bool is_unanswered = false;           // since then it left an order of the table's node without an answer

  // Executions per slot, waiting ones included: 0 is idle, 1 is full, above 1 executions wait.
  double occupancy() const { return slots == 0 ? 1 : (double(used) + double(waiting)) / slots; }
};

// What a sign of life says. Programs of before slots and drains were in it leave them out.
struct NodeSign {
  uint32_t used = 0, waiting = 0;
  std::optional<uint32_t> slots;
  std::optional<bool> drained;
};

class NodeTable {
 public:
  static constexpr size_t kMaxNodes = 131'072;

  // Adds a node, or replaces its last report. Errors: exhausted (kMaxNodes; known nodes are still replaced).
  Result<> report(NodeReport report);
  // Replaces only the load of a node: answers and refusals carry it, more often than reports come. Ignored for an
  // unknown name, and for another boot than the report's: only a report says which labels that start has.
  void note_load(std::string_view name, std::string_view boot, uint32_t used, uint32_t waiting,
                 BootClock::time_point now);
  // The same for a sign of life.
  void note_sign(std::string_view name, std::string_view boot, const NodeSign& sign, BootClock::time_point now);
  // An order to this node got no answer: it is doubted until it is heard again.
  void note_unanswered(std::string_view name);
  // Forgets a node, known or not. The last node of the table takes its index.
  void remove(std::string_view name);

  size_t size() const { return nodes_.size(); }
  // Null: unknown. The pointer is valid until the table changes.
  const NodeReport* find(std::string_view name) const;
  // The node with this index, 0 to size() - 1. Indexes change when nodes are removed.
  const NodeReport& at(size_t index) const { return nodes_[index]; }
  // Hash of that node's name: the same in every process and on every machine.
  uint64_t name_hash(size_t index) const { return hashes_[index]; }

 private:
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Indexes = std::unordered_map<std::string, size_t, TextHash, std::equal_to<>>;

  std::vector<NodeReport> nodes_;
  std::vector<uint64_t> hashes_;  // apart from the reports: a home is found by a walk over these alone
  Indexes indexes_;
};

}  // namespace cluster
