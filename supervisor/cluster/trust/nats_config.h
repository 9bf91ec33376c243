// The configuration of nats-server for the nodes of a trust record, as text. Each node is a user with its NATS key and
// may use these subjects:
//   publish    to any node (w1.node.NODE), to any inbox, and under its own name (w1.load.NODE, w1.from.NODE)
//   subscribe  to its own subject and inbox (_INBOX.NODE: the prefix that its client sets), and to all load and from
//   buckets    reads all; writes its own keys of `nodes` and `leases`, and the others as a whole
// So a node under an attacker's control cannot read the messages to another node, or send load reports in its name. It
// can write to `trust` and `policies`, but nodes accept only rules there that an authority has signed. Source:
// docs.nats.io, NATS Server configuration (2.9). Used by: `warder cluster`.
#pragma once
#include <string>
#include <vector>

#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

struct NatsServer {
  std::string name;                // server_name
  std::string listen;              // "0.0.0.0:4222"
  std::string tls_folder;          // with server.pem, server.key and ca.pem
  std::string nodes_file;          // name of the file of nats_users(), beside this one
  std::string store;               // folder of JetStream
  std::vector<std::string> hosts;  // of all servers of NATS; with two or more, they are one cluster (port 6222)
};
// The file of the server; the administrator may change it.
std::string nats_server_config(const NatsServer& server);
// The file that it includes: the users. Made again for each trust record.
std::string nats_users(const TrustRecord& record);

}  // namespace cluster
