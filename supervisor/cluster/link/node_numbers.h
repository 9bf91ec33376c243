// NodeNumbers: what a warder-node counts, for metrics and the doctor. It tells its warderd each second:
//   warder-node  {"numbers": {"nodes": {"alive": 2, ...}, "homes", "bus_silent_us", "connections", "orders": {...},
//                             "refused": {"replayed": 1, ...}, "trust_serial", "trust_trouble", "bus"}}
// Used by: node_link.h, warder-node. Errors: invalid, naming the field.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "supervisor/cluster/link/view_messages.h"

namespace cluster {

constexpr size_t kNodeStates = 6;

struct NodeNumbers {
  std::array<uint64_t, kNodeStates> nodes{};  // by NodeState
  uint64_t homes = 0;                         // workspaces whose home is here
  uint64_t connections = 0;                   // that are carried to and from other nodes
  std::chrono::microseconds bus_silent{0};    // since this warder-node was connected to the bus; 0: it is
  // Orders for connections: of this node to others, and of others to this one.
  uint64_t opened = 0, refused_there = 0, unreachable = 0, opened_here = 0, refused_here = 0;
  std::map<std::string, uint64_t> refused;  // messages of others that EnvelopeChecker refused, by its fault
  uint64_t trust_serial = 0;                // of the trust record in force
  std::string trust_trouble;                // why the file of the trust record is not in force; empty: it is
  std::string bus;                          // the server of NATS, or the last error
};
constexpr size_t kMaxNumbersText = 300;  // bytes of each text; longer ones are cut
Json write_numbers(const NodeNumbers& numbers);
Result<NodeNumbers> read_numbers(const Json& message);

}  // namespace cluster
