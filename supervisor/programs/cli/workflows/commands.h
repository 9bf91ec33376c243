// The commands of this folder in the table of all commands, ../admin/commands.cc: their words, flags and texts.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kWorkflowsSummary[] = "Check and run declared workflows, and show what they have done";

// `commands`, and the commands of this folder.
std::vector<Command> with_workflows(std::vector<Command> commands);

// Weak, as those of ../admin/command.h.
[[gnu::weak]] CommandProgram check_workflow;
[[gnu::weak]] CommandProgram run_workflow;
[[gnu::weak]] CommandProgram show_workflow;

}  // namespace admin
