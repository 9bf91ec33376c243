// The table of commands as a command line: for warder-admin, which does them, for `warder`, which lists them, and for
// the documents made of both.
#pragma once
#include <string>

#include "supervisor/cli/admin/command.h"

namespace CLI {
class App;
}

namespace admin {

// What `given` holds is there after app.parse(); it must live as long as `app`.
void declare_commands(CLI::App& app, Given& given);
// --socket, which the commands of both programs know.
void declare_socket(CLI::App& app, std::string& socket);
// The subcommand that was asked for, with all its words: "policy check". Empty before app.parse().
std::string asked_command(const CLI::App& app);

}  // namespace admin
