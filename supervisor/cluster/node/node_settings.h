// NodeSettings: the configuration of warder-node: /etc/warder/cluster/node.json, as `warder cluster init` and `join`
// write it. Errors: invalid, naming the key.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/cluster/placement/node_table.h"

namespace cluster {

struct NodeSettings {
  std::string node, cluster;
  NodeLabels labels;
  uint32_t slots = 16;                                // executions of other nodes that may run here at the same time
  int replicas = 1;                                   // of the shared values: 3 where three or more nats-servers run
  int lease_divisor = 1;                              // of tests: the lease's times are shorter by it
  std::vector<std::string> servers;                   // of NATS
  std::string authorities;                            // "ca": PEM file; empty: the system's authorities
  std::string node_key, nats_seed, trust;             // files
  std::string state = "/var/lib/warder-node";         // folder of this program
  std::string socket = "/run/warder-node/node.sock";  // for warderd
  std::string warderd = "/run/warder/node.sock";      // of warderd
};

Result<NodeSettings> read_node_settings(const std::string& file);

}  // namespace cluster
