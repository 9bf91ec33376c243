// Doctor of warder-admin: `warder doctor` prints the findings of ../../../operations/doctor/, and checks that only its
// user can make: a daemon seen from outside, and the configuration files of MCP clients. It changes no file and no
// setting. Used by: doctor.cc. Tests: tests/supervisor/doctor_test.py.
#pragma once
#include <string>

#include "supervisor/operations/doctor/doctor.h"
#include "supervisor/programs/cli/admin/command.h"

namespace admin {

// Checks the daemon's socket, runs a program in a jail, and reads the daemon's findings over D-Bus.
doctor::Findings look_at_daemon(const ParsedCommand& command);
// Checks the configuration files below `home` and `project`, the current folder. Clients without a file are left out.
doctor::Findings look_at_clients(const std::string& home, const std::string& project);

}  // namespace admin
