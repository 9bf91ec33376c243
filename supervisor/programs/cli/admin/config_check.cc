// `warder config check`: checks the configuration as `warderd --check` does, without a daemon.
#include <unistd.h>

#include <filesystem>

#include "supervisor/daemon/configuration/check.h"
#include "supervisor/daemon/configuration/report.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

// Without FILE, an ordinary user who has no configuration asks about the machine's.
configuration::Invocation invocation_for(const ParsedCommand& command) {
  Flags flags;
  if (!command.words.empty()) flags.config = command.words.front();
  flags.policies = command.value("policies", "");
  configuration::Invocation invocation = configuration::invocation_of(std::move(flags));
  invocation.flags.policies = configuration::absolute_folders(invocation.flags.policies, invocation);
  std::error_code missing;
  if (command.words.empty() && !std::filesystem::exists(configuration::default_file(invocation), missing))
    invocation.by_root = true;
  return invocation;
}

}  // namespace

Result<int> check_configuration(const ParsedCommand& command) {
  const auto loaded = configuration::check(invocation_for(command));
  if (command.json) {
    print_json(configuration::report_json(loaded));
  } else {
    const auto report = configuration::report_of(loaded);
    cli::print_text(stderr, report.bad);
    cli::print_text(stdout, report.good);
  }
  return loaded.complete() ? 0 : 1;
}
const ProgramOfCommand kCheckConfiguration{"config check", check_configuration};

}  // namespace admin
