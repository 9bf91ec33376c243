// Declaration: adds the table of commands (command.h) to a CLI11 command line. Used by: warder-admin, which runs the
// commands, `warder`, which lists them, and docgen, which documents them.
#pragma once
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/command.h"

namespace CLI {
class App;
}

namespace admin {

// app.parse() fills `command`, which must live as long as `app`.
void declare_commands(CLI::App& app, ParsedCommand& command);
// Takes `--` and the words after it from the command line of a command with AfterDashes::command_line, and returns
// these words; app.parse() would refuse them once it has one word of the command. Other commands keep theirs.
std::vector<std::string> take_command_line(int& argc, char** argv);
// The flag --socket, for the commands of both programs.
void declare_socket(CLI::App& app, std::string& socket);
// The name of the parsed subcommand, with all its words: "policy check". Empty before app.parse().
std::string requested_command(const CLI::App& app);

}  // namespace admin
