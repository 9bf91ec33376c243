// The commands of this folder in the table of all commands, ../admin/commands.cc: their words, flags and texts.
#pragma once
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace admin {

inline constexpr char kClusterSummary[] = "Keys of a cluster's nodes, and the record of all nodes";

// `commands`, and the commands of this folder.
std::vector<Command> with_cluster(std::vector<Command> commands);

// Weak, as those of ../admin/command.h.
[[gnu::weak]] CommandProgram init_cluster;
[[gnu::weak]] CommandProgram join_cluster;
[[gnu::weak]] CommandProgram add_cluster_node;
[[gnu::weak]] CommandProgram remove_cluster_node;
[[gnu::weak]] CommandProgram rotate_cluster_key;
[[gnu::weak]] CommandProgram sign_cluster_rule;
[[gnu::weak]] CommandProgram show_cluster;
[[gnu::weak]] CommandProgram run_nodes;
[[gnu::weak]] CommandProgram run_nodes_drain;
[[gnu::weak]] CommandProgram run_nodes_undrain;
[[gnu::weak]] CommandProgram run_nodes_move;
[[gnu::weak]] CommandProgram run_nodes_restore;

}  // namespace admin
