// NodeFlags: the flags of warder-node. Declared once, for its main(), which reads them, and for the manual page
// (supervisor/programs/docgen/). No function here fails.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace cluster {

inline constexpr char kNodeDescription[] = "Connects the warderd of this machine with those of other machines.";

struct NodeFlags {
  std::string config = "/etc/warder/cluster/node.json", daemon_user = "warder";
};

// `flags` must live as long as `app`.
void declare_flags(CLI::App& app, NodeFlags& flags);

}  // namespace cluster
