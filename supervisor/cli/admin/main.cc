// warder-admin: the program of the commands that manage a daemon. It is separate from `warder`, because `warder` is
// linked statically and libsystemd is not. `warder ps` starts it, so no user needs to call it.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "supervisor/base/version.h"
#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/admin/declare.h"
#include "supervisor/cli/terminal.h"

namespace {

constexpr int kExitError = 1, kExitUsage = 2, kExitUnavailable = 125;

int complain(const std::string& command, const Error& error) {
  std::string text = "warder" + (command.empty() ? "" : " " + command) + ": " + error.what + "\n";
  if (!error.hint.empty()) text += "  " + error.hint + "\n";
  cli::print_text(stderr, text);
  if (error.code == Code::invalid) return kExitUsage;
  return error.code == Code::unavailable ? kExitUnavailable : kExitError;
}

constexpr std::pair<std::string_view, Result<int> (*)(const admin::Given&)> kPrograms[] = {
    {"ps", admin::run_ps},
    {"top", admin::run_top},
    {"logs", admin::run_logs},
    {"kill", admin::run_kill},
    {"approvals", admin::run_approvals},
    {"approve", admin::run_approve},
    {"deny", admin::run_deny},
    {"audit verify", admin::verify_audit_chain},
    {"stats", admin::run_stats},
    {"dashboard", admin::run_dashboard},
    {"metrics", admin::run_metrics},
    {"complete", admin::print_candidates},
    {"doctor", admin::run_doctor},
    {"policy check", admin::check_policies},
    {"policy show", admin::show_policy},
    {"policy explain", admin::explain_policy},
};

Result<int> run(const std::string& command, const admin::Given& given) {
  for (const auto& [name, program] : kPrograms)
    if (name == command) return program(given);
  return fail(Code::internal, "this command has no function");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Administers warderd.", "warder");
  app.set_version_flag("--version", std::string("warder ") + kWarderVersion);
  app.require_subcommand(1);
  app.fallthrough();
  admin::Given given;
  admin::declare_socket(app, given.socket);
  admin::declare_commands(app, given);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    return complain(admin::asked_command(app), {Code::invalid, 0, wrong.what(), "see: warder COMMAND --help", {}});
  }
  const std::string command = admin::asked_command(app);
  const auto status = run(command, given);
  return status ? *status : complain(command, status.error());
}
