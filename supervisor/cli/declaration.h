// The command line of `warder`, declared: what --help, the manual and the completion are made of, and what arguments.cc
// runs. The administration's commands are in it as they are in warder-admin's.
#pragma once
#include <string>
#include <vector>

#include "supervisor/cli/admin/command.h"

namespace CLI {
class App;
}

namespace cli {

inline constexpr char kDescription[] = "Runs code in single-use jails, by way of the daemon warderd.";

struct RunArguments {
  std::string file, code, language;
  double timeout = 0, memory = 0;
  std::vector<std::string> context;
  bool json = false, receipt = false;
};

struct Arguments {
  std::string socket, client;
  bool list_clients = false;
  RunArguments run;
  admin::Given admin;
};

struct Commands {
  CLI::App *mcp, *run, *config;
};

// `arguments` must live as long as `app`.
Commands declare(CLI::App& app, Arguments& arguments);

}  // namespace cli
