// The rows of `warder servers ...` in the table of commands (../admin/command.h), and their programs.
// Used by: ../admin/commands.cc.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kServersSummary[] =
    "List, add, import, test, log in to and remove upstream servers (other MCP servers)";

// `commands`, and the commands of this folder.
std::vector<Command> with_servers(std::vector<Command> commands);

// Weak, as those of ../admin/command.h.
[[gnu::weak]] CommandProgram list_servers;
[[gnu::weak]] CommandProgram add_server;
[[gnu::weak]] CommandProgram remove_server;
[[gnu::weak]] CommandProgram run_server_test;
[[gnu::weak]] CommandProgram login_to_server;
[[gnu::weak]] CommandProgram log_out_of_server;
[[gnu::weak]] CommandProgram import_servers;
[[gnu::weak]] CommandProgram install_server;

}  // namespace admin
