// `warder doctor`: the findings of ../../doctor/, and what only whoever calls it can look at: a daemon, from outside,
// and the configuration files of MCP clients. Changes nothing. Tests: tests/supervisor/doctor_test.py.
#pragma once
#include <string>

#include "supervisor/cli/admin/command.h"
#include "supervisor/doctor/doctor.h"

namespace admin {

// Its socket, a program that it runs, what it says on D-Bus.
doctor::Findings look_at_daemon(const Given& given);
// Below the home folder, and the folder in which this was called; clients that have no file here are left out.
doctor::Findings look_at_clients(const std::string& home, const std::string& project);

}  // namespace admin
