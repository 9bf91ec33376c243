// Rows of the table of commands (command.h) that other folders of warder have: names, words, flags and texts.
// Used by: commands.cc.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

std::vector<Command> cluster_commands();
std::vector<Command> layer_commands();
std::vector<Command> server_commands();
std::vector<Command> skill_commands();
std::vector<Command> token_commands();
std::vector<Command> workflow_commands();

}  // namespace admin
