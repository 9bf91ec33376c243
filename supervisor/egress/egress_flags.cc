#include "supervisor/egress/egress_flags.h"

#include <CLI/CLI.hpp>

namespace egress {

void declare_flags(CLI::App& app, EgressFlags& flags) {
  app.add_option("--socket", flags.socket, "Unix socket for warderd, if systemd passes no socket")->type_name("PATH");
  app.add_option("--name-servers", flags.name_servers, "Name servers instead of those of /etc/resolv.conf")
      ->type_name("ADDRESS:PORT,...");
  app.add_option("--authorities", flags.authorities,
                 "PEM file with the certificate authorities to trust, instead of those of the system")
      ->type_name("FILE");
}

}  // namespace egress
