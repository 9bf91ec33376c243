// Listening sockets: those that systemd passed, and those that the start makes for the keys whose sockets it did not
// pass. Source: ServiceManager::take_descriptors(), Options. Used by: main.cc, with privileges: the daemon's own user
// may not write /run/warder. A socket that cannot be made is a shortfall, and the start continues; the
// exception is the socket for clients.
#pragma once
#include <optional>

#include "supervisor/daemon/configuration/start_view.h"
#include "supervisor/daemon/prepared.h"

configuration::HeldSockets held_by(const ServiceManager::Passed& passed);

// Fills prepared.passed and prepared.held, and adds shortfalls to the notes of prepared.configuration. The shortfalls
// of the trial are not tried again. Errors: no socket for clients can be made.
Result<> open_sockets(Prepared& prepared);

// The user of warder-node; nullopt: absent, so only root and the daemon's user bring requests of other nodes.
Result<std::optional<uid_t>> user_of_node(const ClusterOptions& cluster);
