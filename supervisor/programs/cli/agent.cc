#include "supervisor/programs/cli/agent.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "supervisor/programs/cli/administration.h"
#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/socket.h"

namespace cli {
namespace {

void declare_model(CLI::App& agent, AgentArguments& arguments) {
  agent
      .add_option(
          "--provider", arguments.provider,
          "The form of the model's API: openai (POST BASE/chat/completions, also of other servers) or anthropic "
          "(POST BASE/v1/messages); default: openai")
      ->check(CLI::IsMember({"openai", "anthropic"}));
  agent
      .add_option("--base-url", arguments.base_url,
                  "The address of the model's API; default: $LLM_BASE_URL, else the provider's own")
      ->type_name("URL");
  agent.add_option("--model", arguments.model, "The name of the model; default: $LLM_MODEL")->type_name("NAME");
}

void declare_bounds(CLI::App& agent, AgentArguments& arguments) {
  agent.add_option("--max-turns", arguments.max_turns, "Replies of the model in one run; default: 20")
      ->type_name("NUMBER");
  agent
      .add_option(
          "--max-tokens", arguments.max_tokens,
          "Tokens of all turns together, read and written, as the model's server counts them; default: no bound")
      ->type_name("NUMBER");
  agent.add_option("--max-seconds", arguments.max_seconds, "Time of the run; default: 600")->type_name("SECONDS");
  agent
      .add_option("--max-cost", arguments.max_cost, "Cost of the run, by --price-in and --price-out; default: no bound")
      ->type_name("AMOUNT");
  agent.add_option("--price-in", arguments.price_in, "Price of a million tokens that the model reads")
      ->type_name("AMOUNT");
  agent.add_option("--price-out", arguments.price_out, "Price of a million tokens that the model writes")
      ->type_name("AMOUNT");
  agent.add_option("--max-errors", arguments.max_errors, "Failed calls in a row that end the run; default: 5")
      ->type_name("NUMBER");
  agent
      .add_option("--retries", arguments.retries,
                  "Times that a request is sent again after status 429, a fault of the server or a broken reply; "
                  "default: 5")
      ->type_name("NUMBER");
  agent
      .add_option("--retry-pause", arguments.retry_pause,
                  "The first pause before a request is sent again; each further pause is twice as long. A Retry-After "
                  "of the server counts instead; default: 1")
      ->type_name("SECONDS");
}

void declare_listen(CLI::App& agent, AgentArguments& arguments) {
  agent
      .add_option("--listen", arguments.listen,
                  "Serve tasks over HTTP on this socket: POST /task, GET /task/ID, GET /health")
      ->type_name("unix:PATH|ADDRESS:PORT");
  agent
      .add_option("--token-file", arguments.token_file,
                  "The file with the token that clients over TCP send as Authorization: Bearer")
      ->type_name("FILE");
  agent.add_option("--tasks", arguments.tasks, "Tasks that --listen runs at one time; default: 4")->type_name("NUMBER");
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
  declare_model(*commands.agent, arguments);
  declare_bounds(*commands.agent, arguments);
  declare_listen(*commands.agent, arguments);
  commands.run = commands.agent->add_subcommand(
      "run", "Do one task. The answer is printed on standard output, progress on standard error");
  auto* task = commands.run->add_option("task", arguments.task, "The task, in words")->type_name("TASK");
  commands.run->add_option("--file", arguments.file, "The file with the task; '-' reads standard input")
      ->type_name("FILE")
      ->excludes(task);
  commands.run
      ->add_option("--resume", arguments.resume,
                   "Continue the run with this session; a TASK is a further request in the same conversation")
      ->type_name("SESSION");
  commands.run->add_option("--workspace", arguments.workspace, "The named workspace of the run; default: your own")
      ->type_name("NAME");
  commands.run->add_flag("--json", arguments.json,
                         "Print result, output, error, session, turns and usage as a JSON object");
  return commands;
}

int become_agent(char** argv) {
  exec_beside("warder-agent", argv);
  std::fprintf(stderr,
               "warder: the program warder-agent, which has this command, is neither beside %s nor in ../lib/warder\n"
               "  install the package warder again; it has both programs\n",
               own_path().c_str());
  return kExitUnavailable;
}

}  // namespace cli
