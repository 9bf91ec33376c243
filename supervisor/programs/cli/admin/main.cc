// warder-admin: the program of the commands that manage a daemon. It is separate from `warder`, because `warder` is
// linked statically and libsystemd is not. `warder ps` starts it, so no user needs to call it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string_view>

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

std::map<std::string_view, admin::CommandProgram*>& programs() {
  static std::map<std::string_view, admin::CommandProgram*> all;
  return all;
}

Result<int> run(const std::string& command, const admin::ParsedCommand& parsed_command) {
  const auto program = programs().find(command);
  if (program == programs().end())
    return fail(Code::unavailable, "this Warder was built without the command " + command,
                "Warder's packages have it; a build has it with all annexes (CMakeLists.txt)");
  return program->second(parsed_command);
}

}  // namespace

admin::ProgramOfCommand::ProgramOfCommand(const char* name, CommandProgram* program) {
  programs().emplace(name, program);
}

int main(int argc, char** argv) {
  CLI::App app("Administers warderd.", "warder");
  app.set_version_flag("--version", std::string("warder ") + kWarderVersion);
  app.require_subcommand(1);
  app.fallthrough();
  admin::ParsedCommand parsed_command;
  admin::declare_socket(app, parsed_command.socket);
  admin::declare_commands(app, parsed_command);
  const auto command_line = admin::take_command_line(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& requested) {  // --help, --version
    return app.exit(requested);
  } catch (const CLI::ParseError& wrong) {
    return complain(admin::requested_command(app), cli::usage_error(app, wrong));
  }
  parsed_command.words.insert(parsed_command.words.end(), command_line.begin(), command_line.end());
  const std::string command = admin::requested_command(app);
  const auto status = run(command, parsed_command);
  return status ? *status : complain(command, status.error());
}
