// warder-agent: the program of `warder agent`. `warder` starts it, so no user needs to call it.
#include <fcntl.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "supervisor/base/ending_signals.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/base/version.h"
#include "supervisor/programs/agent/agent_run.h"
#include "supervisor/programs/agent/agent_settings.h"
#include "supervisor/programs/agent/task_server.h"
#include "supervisor/programs/cli/admin/declare.h"
#include "supervisor/programs/cli/agent.h"
#include "supervisor/programs/cli/socket.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/programs/cli/usage.h"

namespace {

using agent::AgentRun;
using agent::AgentTranscript;
using agent::RunEnd;

constexpr int kExitError = 1, kExitUsage = 2, kExitUnavailable = 125;
constexpr size_t kMaxTaskBytes = 1 << 20;

int complain(const Error& error) {
  std::string text = "warder agent: " + error.what + "\n";
  if (!error.hint.empty()) text += "  " + error.hint + "\n";
  cli::print_text(stderr, text);
  if (error.code == Code::invalid) return kExitUsage;
  return error.code == Code::unavailable ? kExitUnavailable : kExitError;
}

void print_progress(const std::string& line) { cli::print_text(stderr, "warder agent: " + line + "\n"); }

int exit_status_of(RunEnd end) {
  switch (end) {
    case RunEnd::done:
      return 0;
    case RunEnd::failed:
      return kExitError;
    case RunEnd::turns:
      return 120;
    case RunEnd::tokens:
      return 121;
    case RunEnd::cost:
      return 122;
    case RunEnd::errors:
      return 123;
    case RunEnd::time:
      return 124;
    case RunEnd::unavailable:
      return kExitUnavailable;
    case RunEnd::cancelled:
      return 130;
  }
  return kExitError;
}

// The text of the task; empty: none is given.
Result<std::string> read_task(const cli::AgentArguments& arguments) {
  std::string text = arguments.task;
  if (!arguments.file.empty()) {
    const Fd file(arguments.file == "-" ? ::dup(STDIN_FILENO) : ::open(arguments.file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno(errno, "--file: open '" + arguments.file + "'", Code::invalid);
    auto read = read_complete(file.get(), kMaxTaskBytes);
    if (!read) return tl::unexpected(std::move(read).error().within("--file"));
    text = *std::move(read);
  }
  if (text.size() > kMaxTaskBytes) return fail(Code::invalid, "the task is longer than 1 MiB");
  return valid_utf8(trimmed(text, " \t\r\n"));
}

Result<AgentTranscript> open_conversation(const cli::AgentArguments& arguments, const std::string& model) {
  TRY(const std::string task, read_task(arguments));
  if (arguments.resume.empty()) {
    if (task.empty()) return fail(Code::invalid, "a TASK, or --file FILE, is missing", "see: warder agent run --help");
    return AgentTranscript::begin(agent::new_session_name(), arguments.workspace, model, task);
  }
  TRY(AgentTranscript transcript, AgentTranscript::resume(arguments.resume));
  if (!arguments.workspace.empty() && arguments.workspace != transcript.workspace())
    return fail(Code::invalid, "--workspace: the run has the workspace '" + transcript.workspace() + "'",
                "leave --workspace out");
  CHECKED(transcript.continue_with(task));
  return transcript;
}

// Ends the run at a signal.
Task<> watch_signals(AsyncFd& signals, AgentRun& run) {
  for (;;) {
    signalfd_siginfo seen{};
    if (::read(signals.get(), &seen, sizeof seen) == sizeof seen) run.cancel("the run was interrupted by the user");
    co_await signals.readable();
  }
}

Task<> drive(Loop& loop, AgentRun& run, AsyncFd& signals, agent::AgentOutcome& outcome) {
  Scope watching(loop);
  watching.spawn(watch_signals(signals, run));
  outcome = co_await run.run();
  loop.stop();
}

void print_outcome(const agent::AgentOutcome& outcome, const std::string& session, bool as_json) {
  if (as_json) {
    cli::print_text(stdout, dump_json(agent::outcome_json(outcome, session)) + "\n");
  } else if (!outcome.result.empty()) {
    cli::print_text(stdout, outcome.result + (outcome.result.ends_with('\n') ? "" : "\n"));
  }
  std::fflush(stdout);
  if (outcome.end == RunEnd::done) return;
  std::string text = "warder agent: " + outcome.error + "\n";
  if (!outcome.hint.empty()) text += "  " + outcome.hint + "\n";
  cli::print_text(stderr, text + "  continue with: warder agent run --resume " + session + "\n");
}

Result<int> run_task(Loop& loop, const cli::AgentArguments& arguments, const cli::SocketPath& socket,
                     AsyncFd& signals) {
  TRY(const agent::AgentSettings settings, agent::read_agent_settings(arguments));
  TRY(const auto client, http::HttpClient::open(loop));
  TRY(AgentTranscript transcript, open_conversation(arguments, settings.model));
  const std::string session = transcript.session();
  print_progress("session " + session);
  AgentRun run(loop, *client, settings, socket, std::move(transcript), print_progress);
  agent::AgentOutcome outcome;
  loop.spawn(drive(loop, run, signals, outcome));
  loop.run();
  loop.cancel_all();
  print_outcome(outcome, session, arguments.json);
  return exit_status_of(outcome.end);
}

// Waits for a signal, then ends the tasks.
Task<> serve_until_signal(Loop& loop, agent::TaskServer& server, AsyncFd& signals) {
  co_await signals.readable();
  co_await server.finish();
  loop.stop();
}

Result<int> serve_tasks(Loop& loop, const cli::AgentArguments& arguments, const cli::SocketPath& socket,
                        AsyncFd& signals) {
  TRY(const agent::AgentSettings settings, agent::read_agent_settings(arguments));
  const bool is_tcp = !arguments.listen.starts_with("unix:");
  if (is_tcp && arguments.token_file.empty())
    return fail(Code::invalid, "--listen: clients over TCP need a token",
                "give --token-file FILE, or listen on unix:PATH");
  std::string token;
  if (!arguments.token_file.empty()) {
    TRY(token, agent::read_task_token(arguments.token_file));
  }
  TRY(const auto client, http::HttpClient::open(loop));
  TRY(agent::TaskSocket listening, agent::open_task_socket(arguments.listen));
  agent::TaskServer server(loop, *client, settings, socket, listening.address, token, print_progress);
  CHECKED(server.open(std::move(listening.socket)));
  print_progress("listens on " + arguments.listen);
  loop.spawn(serve_until_signal(loop, server, signals));
  loop.run();
  loop.cancel_all();
  if (!listening.path.empty()) (void)::unlink(listening.path.c_str());
  return 0;
}

Result<int> run_program(const cli::AgentCommands& commands, const cli::AgentArguments& arguments,
                        const cli::SocketPath& socket) {
  Loop loop;
  TRY(AsyncFd signals, catch_ending_signals(loop));
  if (*commands.run && !arguments.listen.empty())
    return fail(Code::invalid, "--listen: agent run does one task", "leave out --listen or run");
  if (*commands.run) return run_task(loop, arguments, socket, signals);
  if (!arguments.listen.empty()) return serve_tasks(loop, arguments, socket, signals);
  return fail(Code::invalid, "a command is missing: run, or --listen", "see: warder agent --help");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Lets a language model do tasks with code in jails.", "warder");
  app.set_version_flag("--version", std::string("warder ") + kWarderVersion);
  app.require_subcommand(1);
  app.fallthrough();
  std::string socket;
  admin::declare_socket(app, socket);
  cli::AgentArguments arguments;
  const cli::AgentCommands commands = cli::declare_agent(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& requested) {  // --help, --version
    return app.exit(requested);
  } catch (const CLI::ParseError& wrong) {
    return complain(cli::usage_error(app, wrong));
  }
  const auto status = run_program(commands, arguments, cli::find_socket(socket));
  return status ? *status : complain(status.error());
}
