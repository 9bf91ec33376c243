// Declaration: the command line of `warder`, with the commands that warder-admin runs. --help, the manual page and the
// completion are made from it. Used by: arguments.cc, docgen/.
#pragma once
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/agent.h"

namespace CLI {
class App;
}

namespace cli {

inline constexpr char kDescription[] =
    "Runs code in single-use jails through the daemon warderd, and administers the daemon.";

struct RunArguments {
  std::string file, code, language, timeout, memory, workflow;
  std::vector<std::string> context;
  bool json = false, receipt = false;
};

struct Arguments {
  std::string socket, client, http_url;
  bool list_clients = false;
  RunArguments run;
  AgentArguments agent;
  admin::ParsedCommand admin;
};

struct WarderCommands {
  CLI::App *mcp, *run, *config;
  AgentCommands agent;
};

// `arguments` must live as long as `app`.
WarderCommands declare(CLI::App& app, Arguments& arguments);

}  // namespace cli
