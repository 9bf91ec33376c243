// Runs the command line of `warder`. Parsing takes longer than the whole start of the proxy (main.cc).
#include "supervisor/programs/cli/arguments.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "supervisor/programs/cli/admin/declare.h"
#include "supervisor/programs/cli/administration.h"
#include "supervisor/programs/cli/agent.h"
#include "supervisor/programs/cli/amounts.h"
#include "supervisor/programs/cli/config.h"
#include "supervisor/programs/cli/declaration.h"
#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/stdio_proxy.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/programs/cli/usage.h"

namespace cli {
namespace {

constexpr size_t kMaxCodeBytes = 15 << 20;  // a request is at most 16 MiB

int complain(const Error& error, int status, const std::string& command = {}) {
  std::string text = "warder" + (command.empty() ? "" : " " + command) + ": " + error.what + "\n";
  if (!error.hint.empty()) text += "  " + error.hint + "\n";
  print_text(stderr, text);
  return status;
}

Result<std::string> read_code(const std::string& file) {
  Fd fd(file == "-" ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open '" + file + "'", Code::not_found);
  std::string code;
  char chunk[64 << 10];
  for (;;) {
    const ssize_t got = ::read(fd.get(), chunk, sizeof chunk);
    if (got < 0) return fail_errno(errno, "read '" + file + "'");
    if (got == 0) return code;
    code.append(chunk, static_cast<size_t>(got));
    if (code.size() > kMaxCodeBytes) return fail(Code::invalid, "'" + file + "' is longer than 15 MiB");
  }
}

int run(const RunArguments& arguments, const CLI::App& command, const SocketPath& socket) {
  RunOptions options;
  if (command.count("-c") > 0) {
    options.code = arguments.code;
  } else if (arguments.file.empty()) {
    return complain(
        {Code::invalid, 0, "a FILE, '-' for standard input, or -c CODE is missing", "see: warder run --help", {}},
        kExitUsage, "run");
  } else {
    auto code = read_code(arguments.file);
    if (!code) return complain(code.error(), kExitUsage, "run");
    options.code = std::move(*code);
  }
  options.language = arguments.language.empty() ? language_of(arguments.file) : arguments.language;
  if (command.count("--timeout") > 0) {
    auto seconds = parse_amount(arguments.timeout, kSecondsAmount);
    if (!seconds) return complain(std::move(seconds).error().within("--timeout"), kExitUsage, "run");
    options.timeout_seconds = *seconds;
  }
  if (command.count("--memory") > 0) {
    auto megabytes = parse_amount(arguments.memory, kMemoryAmount);
    if (!megabytes) return complain(std::move(megabytes).error().within("--memory"), kExitUsage, "run");
    options.memory_mb = *megabytes;
  }
  for (const auto& text : arguments.context) {
    auto pair = parse_context(text);
    if (!pair) return complain(pair.error(), kExitUsage, "run");
    options.context.push_back(std::move(*pair));
  }
  options.workflow = arguments.workflow;
  options.print = arguments.json ? RunPrint::json : RunPrint::text;
  options.receipt = arguments.receipt ? ReceiptPrint::yes : ReceiptPrint::no;
  auto status = run_code(socket, options);
  if (status) return *status;
  Error error = std::move(status).error();
  if (error.err == ENOENT || error.err == ECONNREFUSED) error = explained(std::move(error), socket);
  return complain(error, kExitUnavailable, "run");
}

int config(const std::string& client, const std::string& url, const SocketPath& socket) {
  const auto entry = url.empty() ? client_config(client, own_path(), socket) : http_client_config(client, url);
  if (!entry) return complain(entry.error(), kExitUsage);
  std::fputs(entry->text.c_str(), stdout);
  std::fflush(stdout);
  std::fputs((entry->where + "\n").c_str(), stderr);
  return 0;
}

int list_clients() {
  for (const auto& client : known_clients())
    std::printf("%.*s\n", static_cast<int>(client.name.size()), client.name.data());
  return 0;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app(kDescription, "warder");
  Arguments arguments;
  const WarderCommands commands = declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& requested) {  // --help, --version
    return app.exit(requested);
  } catch (const CLI::ParseError& wrong) {
    const std::string command = *commands.agent.agent ? "agent" : admin::requested_command(app);
    return complain(usage_error(app, wrong), kExitUsage, command);
  }

  const SocketPath found = find_socket(arguments.socket);
  if (*commands.mcp) return run_stdio_proxy(found);
  if (*commands.run) return run(arguments.run, *commands.run, found);
  if (*commands.agent.agent) return become_agent(commands.agent, arguments.agent, found);
  // --socket came before the command's name, or the command is `config check`.
  if (!*commands.config || commands.config->got_subcommand("check")) return become_administration(argv);
  if (arguments.list_clients) return list_clients();
  if (arguments.client.empty())
    return complain({Code::invalid, 0, "config needs a CLIENT", "see: warder config --list", {}}, kExitUsage);
  return config(arguments.client, arguments.http_url, found);
}

}  // namespace cli
