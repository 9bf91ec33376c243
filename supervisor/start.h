// Start: the configuration that a start uses: the files if they are good, else the last good copy, else none. An
// upgrade or a reboot after a mistake in a file therefore leaves the service running. Used by: main.cc, before
// privileges are dropped. Errors: what no other configuration would change: the flags, the environment, the limit of
// open files.
#pragma once
#include "supervisor/daemon/configuration/in_force.h"
#include "supervisor/daemon/configuration/start_view.h"
#include "supervisor/privileges.h"

struct ChosenConfiguration {
  Options options;
  DaemonIdentity identity;
  policies::Store policies;
  configuration::ConfigurationInForce in_force;
};
// Logs problems, shortfalls and warnings, one a line. `held`: the sockets that systemd passed.
Result<ChosenConfiguration> choose_configuration(const configuration::Invocation& invocation,
                                                 const configuration::HeldSockets& sockets);
