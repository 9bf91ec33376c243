#include "supervisor/programs/cli/agent.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "supervisor/base/version.h"
#include "supervisor/programs/cli/administration.h"
#include "supervisor/programs/cli/run.h"

namespace cli {
namespace {

struct AgentOption {
  const char* name;  // "--max-turns"
  const char* type;  // "NUMBER"
  const char* text;
};

constexpr AgentOption kAgentOptions[] = {
    {"--base-url", "URL", "The address of the model's API; default: $LLM_BASE_URL, else the provider's own"},
    {"--model", "NAME", "The name of the model; default: $LLM_MODEL"},
    {"--max-turns", "NUMBER", "Replies of the model in one run; default: 20"},
    {"--max-tokens", "NUMBER",
     "Tokens of all turns together, read and written, as the model's server counts them; default: no bound"},
    {"--max-seconds", "SECONDS", "Time of the run; default: 600"},
    {"--max-cost", "AMOUNT", "Cost of the run, by --price-in and --price-out; default: no bound"},
    {"--price-in", "AMOUNT", "Price of a million tokens that the model reads"},
    {"--price-out", "AMOUNT", "Price of a million tokens that the model writes"},
    {"--max-errors", "NUMBER", "Failed calls in a row that end the run; default: 5"},
    {"--retries", "NUMBER",
     "Times that a request is sent again after status 429, a fault of the server or a broken reply; default: 5"},
    {"--retry-pause", "SECONDS",
     "The first pause before a request is sent again; each further pause is twice as long. A Retry-After of the server "
     "counts instead; default: 1"},
    {"--listen", "unix:PATH|ADDRESS:PORT",
     "Serve tasks over HTTP on this socket: POST /task, GET /task/ID, GET /health"},
    {"--token-file", "FILE", "The file with the token that clients over TCP send as Authorization: Bearer"},
    {"--tasks", "NUMBER", "Tasks that --listen runs at one time; default: 4"},
};

CLI::Option* add_option(CLI::App& command, AgentArguments& arguments, const AgentOption& option) {
  const std::string name = option.name;
  return command.add_option(name, arguments[name.substr(name.find_first_not_of('-'))], option.text)
      ->type_name(option.type);
}

}  // namespace

AgentCommands declare_agent(CLI::App& app, AgentArguments& arguments) {
  AgentCommands commands{};
  commands.agent = app.add_subcommand(
      "agent",
      "Let a language model do a task with code in jails: as `agent run`, or for other programs over HTTP. The key "
      "of the model's API comes from the systemd credential llm-api-key or from $LLM_API_KEY. Exit status of run: 0 "
      "done; 1 error; 120 the bound of turns, 121 of tokens, 122 of cost, 123 of failed calls, 124 of time is reached; "
      "125 warderd or the model's server does not answer");
  commands.agent
      ->add_option(
          "--provider", arguments["provider"],
          "The form of the model's API: openai (POST BASE/chat/completions, also of other servers) or anthropic "
          "(POST BASE/v1/messages); default: openai")
      ->check(CLI::IsMember({"openai", "anthropic"}));
  for (const AgentOption& option : kAgentOptions) add_option(*commands.agent, arguments, option);
  commands.run = commands.agent->add_subcommand(
      "run", "Do one task. The answer is printed on standard output, progress on standard error");
  auto* task = add_option(*commands.run, arguments, {"task", "TASK", "The task, in words"});
  add_option(*commands.run, arguments, {"--file", "FILE", "The file with the task; '-' reads standard input"})
      ->excludes(task);
  add_option(*commands.run, arguments,
             {"--resume", "SESSION",
              "Continue the run with this session; a TASK is a further request in the same conversation"});
  add_option(*commands.run, arguments, {"--workspace", "NAME", "The named workspace of the run; default: your own"});
  commands.run->add_flag("--json")->description(
      "Print result, output, error, session, turns and usage as a JSON object");
  return commands;
}

int become_agent(const AgentCommands& commands, AgentArguments arguments, const SocketPath& socket) {
  arguments["command"] = *commands.run ? "run" : "";
  arguments["json"] = commands.run->count("--json") > 0 ? "yes" : "";
  arguments["socket"] = socket.path;
  arguments["start-hint"] = daemon_hint(socket);
  arguments["version"] = kWarderVersion;
  std::vector<std::string> words = {"warder-agent"};
  for (const auto& [name, value] : arguments) words.push_back(name + "=" + value);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  exec_beside("warder-agent", argv.data());
  std::fputs(
      "warder: the program warder-agent, which has this command, is not installed\n"
      "  install warder-agent, the package of this program\n",
      stderr);
  return kExitUnavailable;
}

}  // namespace cli
