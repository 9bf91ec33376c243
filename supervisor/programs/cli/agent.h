// Agent: the command line of `warder agent`. A Python program, warder-agent (../agent/), does the work; it has a
// package of its own. Used by: declaration.cc, for --help and the manual page; arguments.cc.
#pragma once
#include <map>
#include <string>

#include "supervisor/programs/cli/socket.h"

namespace CLI {
class App;
}

namespace cli {

// Each flag as it was written, by its name without dashes at the beginning: {"max-turns", "20"}; empty: not given.
// ../agent/settings.py checks the values.
using AgentArguments = std::map<std::string, std::string>;

struct AgentCommands {
  CLI::App *agent, *run;
};

// `arguments` must live as long as `app`.
AgentCommands declare_agent(CLI::App& app, AgentArguments& arguments);
// Replaces this process by warder-agent, which gets each argument as one word, NAME=VALUE. Returns only if warder-agent
// cannot be started: the exit status for that.
int become_agent(const AgentCommands& commands, AgentArguments arguments, const SocketPath& socket);

}  // namespace cli
