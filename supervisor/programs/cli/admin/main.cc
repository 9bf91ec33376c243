// warder-admin: the program of the commands that manage a daemon. It is separate from `warder`, because `warder` is
// linked statically and libsystemd is not. `warder ps` starts it, so no user needs to call it.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "supervisor/base/version.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/declare.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/programs/cli/usage.h"

namespace {

constexpr int kExitError = 1, kExitUsage = 2, kExitUnavailable = 125;

int complain(const std::string& command, const Error& error) {
  std::string text = "warder" + (command.empty() ? "" : " " + command) + ": " + error.what + "\n";
  if (!error.hint.empty()) text += "  " + error.hint + "\n";
  cli::print_text(stderr, text);
  if (error.code == Code::invalid) return kExitUsage;
  return error.code == Code::unavailable ? kExitUnavailable : kExitError;
}

Result<int> run(const std::string& command, const admin::ParsedCommand& given) {
  for (const auto& one : admin::commands())
    if (one.name == command && one.program) return one.program(given);
  return fail(Code::internal, "this command has no function");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Administers warderd.", "warder");
  app.set_version_flag("--version", std::string("warder ") + kWarderVersion);
  app.require_subcommand(1);
  app.fallthrough();
  admin::ParsedCommand given;
  admin::declare_socket(app, given.socket);
  admin::declare_commands(app, given);
  const auto command_line = admin::take_command_line(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    return complain(admin::asked_command(app), cli::usage_error(app, wrong));
  }
  given.words.insert(given.words.end(), command_line.begin(), command_line.end());
  const std::string command = admin::asked_command(app);
  const auto status = run(command, given);
  return status ? *status : complain(command, status.error());
}
