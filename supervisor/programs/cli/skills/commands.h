// The commands of this folder in the table of all commands, ../admin/commands.cc: their words, flags and texts.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kSkillsSummary[] = "Make a skill of the code of an execution, and show which code is used often";

// `commands`, and the commands of this folder.
std::vector<Command> with_skills(std::vector<Command> commands);

// Weak, as those of ../admin/command.h.
[[gnu::weak]] CommandProgram make_skill_of_execution;
[[gnu::weak]] CommandProgram show_code_use;

}  // namespace admin
