// Declaration: adds the table of commands (command.h) to a CLI11 command line. Used by: warder-admin, which runs the
// commands, `warder`, which lists them, and docgen, which documents them.
#pragma once
#include <string>

#include "supervisor/cli/admin/command.h"

namespace CLI {
class App;
}

namespace admin {

// app.parse() fills `given`, which must live as long as `app`.
void declare_commands(CLI::App& app, Given& given);
// The flag --socket, for the commands of both programs.
void declare_socket(CLI::App& app, std::string& socket);
// The name of the parsed subcommand, with all its words: "policy check". Empty before app.parse().
std::string asked_command(const CLI::App& app);

}  // namespace admin
