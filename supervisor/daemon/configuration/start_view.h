// StartView: the facts that a trial of a start cannot find out: sockets that are open already, and the sandbox of the
// service. Made by: the start, the reload, and check.cc (from reload_exchange.h, unit_sandbox.h). Used by: trial.h.
#pragma once
#include <set>
#include <string>
#include <vector>

namespace configuration {

// The sockets of a daemon. A key is not used where systemd has passed its sockets.
struct HeldSockets {
  bool mcp_passed = false, http_passed = false, metrics_passed = false, node_passed = false;
  std::set<std::string> opened;  // by the daemon itself, as the configuration names them: addresses, paths
};

// What the unit may do with a path and all below it, unless a rule of a longer path says otherwise.
struct PathRule {
  enum class Access { hidden, read_only, read_write };  // systemd prefers the first of two rules of one path
  std::string path;                                     // absolute, without symbolic links
  Access access = Access::read_write;
  std::string setting;  // of the unit: "ReadOnlyPaths="
};

// What the unit of the service forbids a start. For a check outside of the unit.
struct UnitSandbox {
  bool private_network = false;
  std::vector<PathRule> paths;  // made by path_rules() in unit_sandbox.h; empty: each path may be written
};

struct StartView {
  bool is_start = false;  // this is the start: what a flag names wrongly ends it with an error of its own
  HeldSockets listening;
  bool held_unknown = false;  // a daemon runs, and its sockets are not known: addresses in use are not tried
  UnitSandbox sandbox;
};

}  // namespace configuration
