#include "supervisor/cluster/node/node_flags.h"

#include <CLI/CLI.hpp>

namespace cluster {

void declare_flags(CLI::App& app, NodeFlags& flags) {
  app.add_option("--config", flags.config,
                 "Configuration, as warder cluster init or join writes it; default: /etc/warder/cluster/node.json")
      ->type_name("FILE");
  app.add_option("--daemon-user", flags.daemon_user,
                 "The user of warderd, who may connect: name or id; default: warder")
      ->type_name("USER");
}

}  // namespace cluster
