// ClusterNumbers: the daemon as a node of a cluster, as a scrape needs it. All are 0 without a cluster, so that rules
// and panels find every series. Used by: supervisor/daemon/cluster_parts.cc. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/operations/metrics/text.h"

namespace metrics {

struct ClusterNumbers {
  using Counts = std::vector<std::pair<std::string, uint64_t>>;
  Counts states;                     // of this node: 1 for the present one
  uint64_t fenced_us = 0;            // since the daemon started
  Counts nodes;                      // by state
  uint64_t homes = 0;                // workspaces whose home is here
  uint64_t connections = 0;          // of warder-node to others
  uint64_t bus_silent_us = 0;        // since warder-node was connected to the bus
  Counts sent, received, orders;     // by outcome
  Counts refused;                    // messages between nodes, by fault
  std::vector<uint64_t> hop_bounds;  // microseconds
  std::vector<uint64_t> hops;        // one more than bounds
  uint64_t hops_us = 0;
};
void add_cluster(OpenMetricsText& text, const ClusterNumbers& cluster);

}  // namespace metrics
