#include "supervisor/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/loopback.h"
#include "supervisor/base/version.h"
#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/daemon/configuration/reader.h"
#include "supervisor/records/spans/collector.h"

namespace {

Result<> of_flag(const char* flag, const std::string& value, Result<> checked) {
  if (checked || value.empty()) return {};
  return tl::unexpected<Error>(std::move(checked).error().within(fmt::format("{} {}", flag, value)));
}

Result<> check_folder(const char* flag, const std::string& folder, const char* remedy) {
  std::error_code missing;
  if (folder.empty() || std::filesystem::is_directory(folder, missing)) return {};
  return fail(Code::invalid, fmt::format("{} {}: not a folder", flag, folder), remedy);
}

Result<> check_flags(const Flags& flags) {
  CHECKED(of_flag("--socket", flags.socket, configuration::check_socket_path(flags.socket)));
  CHECKED(of_flag("--metrics", flags.metrics, configuration::check_metrics(flags.metrics)));
  for (const auto& address : flags.http)
    CHECKED(of_flag("--http", address, configuration::check_http_address(address, /* is_public */ false)));
  CHECKED(of_flag("--bus", flags.bus, configuration::check_bus(flags.bus)));
  CHECKED(of_flag("--log-level", flags.log_level, configuration::check_log_level(flags.log_level)));
  CHECKED(of_flag("--journal", flags.journal, configuration::check_durability(flags.journal)));
  if (!flags.traces.empty()) {
    auto collector = spans::parse_collector(flags.traces);
    if (!collector) return tl::unexpected<Error>(std::move(collector).error().within("--traces"));
  }
  for (const auto& folder : configuration::folders_in(flags.policies))
    CHECKED(check_folder("--policies", folder, "name a folder of policy files"));
  CHECKED(check_folder("--catalog", flags.catalog, "name a folder of tool definitions"));
  const char* notify = std::getenv("NOTIFY_SOCKET");
  if (flags.keep_connections && (!notify || !*notify) && !flags.check && !flags.reload)
    return fail(Code::invalid, "--keep-connections: no service manager runs that can store the connections",
                "leave out --keep-connections, or start warderd by its unit");
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, char** argv) {
  CommandLine line;
  Flags flags;
  CLI::App app{kDaemonDescription, "warderd"};
  std::string version = std::string("warderd ") + kWarderVersion;
  if (const std::string absent = absent_annexes_text(); !absent.empty()) version += "\nbuilt without " + absent;
  app.set_version_flag("--version", version);
  declare_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
    line.action = CommandLine::Action::nothing;
    return line;
  } catch (const CLI::ParseError& e) {
    return fail(Code::invalid, e.what(), "see warderd --help");
  }
  line.invocation = configuration::invocation_of(std::move(flags));
  Flags& input = line.invocation.flags;
  for (std::string* path : {&input.config, &input.socket, &input.state, &input.catalog})
    *path = configuration::absolute_path(*path, line.invocation);
  if (!is_tcp_address(input.metrics)) input.metrics = configuration::absolute_path(input.metrics, line.invocation);
  input.policies = configuration::absolute_folders(input.policies, line.invocation);
  CHECKED(check_flags(input));
  if (input.check) line.action = CommandLine::Action::check;
  if (input.reload) line.action = CommandLine::Action::reload;
  return line;
}
