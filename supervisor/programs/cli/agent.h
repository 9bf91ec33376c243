// Agent: the command line of `warder agent`. Another program, warder-agent (../agent/), runs it, because `warder` is
// linked statically and libcurl is not. Used by: declaration.cc, for --help and the manual page; main.cc, arguments.cc
// and ../agent/main.cc.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace cli {

// As they were written; empty: not given. ../agent/agent_settings.h checks them.
struct AgentArguments {
  std::string provider, base_url, model;
  std::string max_turns, max_tokens, max_seconds, max_cost, price_in, price_out, max_errors, retries, retry_pause;
  std::string listen, token_file, tasks;
  std::string task, file, resume, workspace;
  bool json = false;
};

struct AgentCommands {
  CLI::App *agent, *run;
};

// `arguments` must live as long as `app`.
AgentCommands declare_agent(CLI::App& app, AgentArguments& arguments);
// Replaces this process by warder-agent. Returns only if warder-agent cannot be started: the exit status for that.
int become_agent(char** argv);

}  // namespace cli
