// The only file that knows CLI11: it costs compile time and, at run time, more than the bridge's whole start.
#include "supervisor/cli/arguments.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "supervisor/base/version.h"
#include "supervisor/cli/bridge.h"
#include "supervisor/cli/config.h"
#include "supervisor/cli/run.h"

namespace cli {
namespace {

constexpr size_t kMaxCodeBytes = 15 << 20;  // a request is at most 16 MiB

int complain(const Error& error, int status) {
  std::string text = "warder: " + error.what + "\n";
  if (!error.hint.empty()) text += "  " + error.hint + "\n";
  std::fputs(text.c_str(), stderr);
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

struct RunArguments {
  std::string file, code, language;
  double timeout = 0, memory = 0;
  std::vector<std::string> context;
  bool json = false, receipt = false;
};

int run(const RunArguments& arguments, const CLI::App& command, const SocketPath& socket) {
  RunOptions options;
  if (command.count("-c") > 0) {
    options.code = arguments.code;
  } else if (arguments.file.empty()) {
    return complain(
        {Code::invalid, 0, "run needs a FILE, '-' for standard input, or -c CODE", "see: warder run --help", {}},
        kExitUsage);
  } else {
    auto code = read_code(arguments.file);
    if (!code) return complain(code.error(), kExitUsage);
    options.code = std::move(*code);
  }
  options.language = arguments.language.empty() ? language_of(arguments.file) : arguments.language;
  if (command.count("--timeout") > 0) options.timeout_seconds = arguments.timeout;
  if (command.count("--memory") > 0) options.memory_mb = arguments.memory;
  for (const auto& text : arguments.context) {
    auto pair = parse_context(text);
    if (!pair) return complain(pair.error(), kExitUsage);
    options.context.push_back(std::move(*pair));
  }
  options.print = arguments.json ? RunPrint::json : RunPrint::text;
  options.receipt = arguments.receipt ? ReceiptPrint::yes : ReceiptPrint::no;
  const auto status = run_code(socket, options);
  return status ? *status : complain(status.error(), kExitUnavailable);
}

int config(const std::string& client, const SocketPath& socket) {
  const auto entry = client_config(client, own_path(), socket);
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
  CLI::App app("Runs code in single-use jails, by way of the daemon warderd.", "warder");
  app.set_version_flag("--version", std::string("warder ") + kWarderVersion);
  app.require_subcommand(1);
  app.fallthrough();
  std::string socket;
  app.add_option("--socket", socket,
                 "warderd's socket; else $WARDER_SOCKET, $XDG_RUNTIME_DIR/warder/mcp.sock, /run/warder/mcp.sock")
      ->type_name("PATH");

  auto* mcp_command =
      app.add_subcommand("mcp", "Speak MCP on standard input and output; what a client's configuration starts");

  RunArguments run_arguments;
  auto* run_command = app.add_subcommand(
      "run",
      "Run one program. Exit status: the program's; 1 error, 124 timeout, 137 memory, 125 no answer from warderd");
  auto* file =
      run_command->add_option("file", run_arguments.file, "The program; '-' reads standard input")->type_name("FILE");
  run_command->add_option("-c", run_arguments.code, "The program itself")->type_name("CODE")->excludes(file);
  run_command
      ->add_option("-l,--language", run_arguments.language, "python, javascript or shell; else by the file's name")
      ->check(CLI::IsMember({"python", "javascript", "shell"}));
  run_command->add_option("--timeout", run_arguments.timeout, "Wall-clock limit")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  run_command->add_option("--memory", run_arguments.memory, "Memory limit")
      ->type_name("MB")
      ->check(CLI::PositiveNumber);
  run_command->add_option("--context", run_arguments.context, "A variable the program finds defined; VALUE may be JSON")
      ->type_name("NAME=VALUE")
      ->take_all();
  run_command->add_flag("--json", run_arguments.json, "Print the answer as it came");
  run_command->add_flag("--receipt", run_arguments.receipt, "Print what confined the program, on standard error");

  std::string client;
  bool list = false;
  auto* config_command = app.add_subcommand("config", "Print the entry that connects an MCP client to Warder");
  auto* client_option = config_command->add_option("client", client, "See --list")->type_name("CLIENT");
  config_command->add_flag("--list", list, "List the known clients")->excludes(client_option);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::RequiredError&) {  // no subcommand, or one that does not exist
    const auto words = app.remaining();
    return complain({Code::invalid,
                     0,
                     words.empty() ? "a command is missing" : "no command is called '" + words[0] + "'",
                     "commands: mcp, run, config; see: warder --help",
                     {}},
                    kExitUsage);
  } catch (const CLI::ParseError& wrong) {
    return complain({Code::invalid, 0, wrong.what(), "see: warder --help", {}}, kExitUsage);
  }

  const SocketPath found = find_socket(socket);
  if (*mcp_command) return run_bridge(found);
  if (*run_command) return run(run_arguments, *run_command, found);
  if (list) return list_clients();
  if (client.empty())
    return complain({Code::invalid, 0, "config needs a CLIENT", "see: warder config --list", {}}, kExitUsage);
  return config(client, found);
}

}  // namespace cli
