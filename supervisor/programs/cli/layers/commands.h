// The commands of this folder in the table of all commands, ../admin/commands.cc: their words, flags and texts.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kLayersSummary[] = "Build, list, check and remove package layers for jails";

// `commands`, and the commands of this folder.
std::vector<Command> with_layers(std::vector<Command> commands);

// Weak, as those of ../admin/command.h.
[[gnu::weak]] CommandProgram build_layer;
[[gnu::weak]] CommandProgram list_layers;
[[gnu::weak]] CommandProgram verify_layers;
[[gnu::weak]] CommandProgram remove_layers;

}  // namespace admin
