// Options: the settings of warderd, complete and checked. Flags win over the configuration's files, which win over the
// defaults; the defaults differ for root and for other users.
// Source: configuration::load(). Used by: supervisor/main.cc, supervisor/daemon/.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jail/id_range.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/credentials/json_web_token.h"
#include "supervisor/protocol/credentials/stored_token.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/spans/collector.h"
#include "supervisor/upstream/server_config.h"

// MCP over HTTP on TCP. On the Unix socket HTTP is always served.
struct HttpOptions {
  std::vector<std::string> listen;   // addresses with ports, checked; ignored when systemd passes a socket
  bool is_public = false;            // addresses that other machines reach are allowed
  std::vector<std::string> hosts;    // further names of this server in the Host field of requests
  std::vector<std::string> origins;  // web pages that may send requests
};

// The sockets between this daemon and warder-node. Without the key "cluster" both paths are empty: no cluster.
struct ClusterOptions {
  std::string socket;  // of warder-node
  std::string listen;  // of this daemon, for warder-node; ignored when systemd passes one
  std::string user;    // the user of warder-node; empty: the daemon's own user, or root
  std::string trust;   // file: the trust record of `warder cluster`, which says who may sign policies
};

struct Options {
  std::string socket;   // ignored when systemd passes one
  std::string metrics;  // Unix socket or loopback address for metrics, ignored when systemd passes one; empty: absent
  HttpOptions http;
  credentials::JwtSettings jwt;
  std::vector<credentials::StoredToken> tokens;  // of the files; the daemon has those of a systemd credential, too
  std::optional<spans::Collector> traces;
  std::string egress_socket;  // of warder-egress; empty: absent
  ClusterOptions cluster;
  std::string state;                  // absolute
  std::vector<std::string> policies;  // folders, later ones mask files of earlier ones
  std::string catalog;                // absolute; empty: no tool definitions
  std::string bus = "off";            // system, session, off, or an address
  std::string user = "warder";        // the user that a daemon started as root becomes
  std::optional<jail::IdRange> ids;
  journal::Settings journal;
  // A call that runs longer becomes a task, if its client knows tasks.
  std::chrono::milliseconds promote_after{15'000};
  enum class Connections { end_with_us, saved } connections = Connections::end_with_us;
  std::vector<upstream::ServerConfig> servers;
  LogLevel log_level = LogLevel::info;
  std::string jail_init;  // the program warder-jail-init
  std::string jailer;     // the program warder-jailer
  std::string guest;      // folder of the programs that run inside jails
  std::string skills;     // folder of the skills that all tenants share; empty: no shared skills
};
