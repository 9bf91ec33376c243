// The commands of this folder in the table of all commands, ../admin/commands.cc: their words, flags and texts.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kTokensSummary[] = "Make, list and remove tokens for clients over TCP";

// `commands`, and the commands of this folder.
std::vector<Command> with_tokens(std::vector<Command> commands);

// Weak, as those of ../admin/command.h.
[[gnu::weak]] CommandProgram add_token;
[[gnu::weak]] CommandProgram list_tokens;
[[gnu::weak]] CommandProgram remove_token;
[[gnu::weak]] CommandProgram check_token;

}  // namespace admin
