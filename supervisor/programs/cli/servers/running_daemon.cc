#include "supervisor/programs/cli/servers/running_daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration/reloaded_copy.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr std::chrono::seconds kReloadLimit{80};

// Texts of the daemon are compared and printed, escaped; no file is opened by them.
std::optional<configuration::FilesInForce> reported_files(const Json& properties) {
  if (!properties.is_object() || !properties.contains("ConfigurationFile")) return {};
  configuration::FilesInForce files{text(properties, "ConfigurationFile"), text(properties, "StateFolder"), {}};
  for (const Json& folder : member(properties, "PolicyFolders")) files.policies.push_back(text(folder));
  return files;
}

void print_not_kept(const Error& why) {
  cli::print_text(stderr, "the last good copy of the configuration was not stored: " + why.what +
                              (why.hint.empty() ? "" : " (" + why.hint + ")") + "\n");
}

// A daemon on no bus: by SIGHUP.
Result<RunningDaemon::Reloaded> reload_by_signal(const ParsedCommand& command, const ServerDropIns& files) {
  const std::string socket = command.socket.empty() ? files.options().socket : command.socket;
  TRY(const bool runs, configuration::is_daemon_running(files.options().state));
  if (!runs) return RunningDaemon::Reloaded::no_daemon;
  TRY(const auto answer, configuration::ask_for_reload(files.options().state, socket, kReloadLimit));
  if (!answer.good) return fail(Code::internal, fmt::format("{}", fmt::join(answer.lines, "\n")));
  if (answer.files) CHECKED(configuration::expect_main_file(files.main_file(), answer.files->main));
  for (const auto& line : answer.lines) cli::print_text(stderr, line + "\n");
  return RunningDaemon::Reloaded::yes;
}

}  // namespace

RunningDaemon RunningDaemon::find(const ParsedCommand& command) {
  RunningDaemon daemon;
  auto bus = BusClient::connect(command.bus, BusClient::Reach::bus);
  if (bus && bus->has_daemon()) daemon.bus_ = *std::move(bus);
  daemon.read_files();
  return daemon;
}

Result<RunningDaemon> RunningDaemon::reach(const ParsedCommand& command) {
  RunningDaemon daemon;
  TRY(daemon.bus_, BusClient::connect(command.bus));
  daemon.read_files();
  return daemon;
}

void RunningDaemon::read_files() {
  if (!bus_) return;
  if (const auto properties = bus_->properties(kPath, kManager)) in_force_ = reported_files(*properties);
}

Result<> RunningDaemon::expect_same_configuration(const ServerDropIns& files) const {
  if (!in_force_) return {};
  return configuration::expect_main_file(files.main_file(), in_force_->main);
}

Result<> RunningDaemon::expect_same_policies(const std::vector<std::string>& folders) const {
  if (!in_force_) return {};
  return configuration::expect_policy_folders(folders, in_force_->policies);
}

Result<RunningDaemon::Reloaded> RunningDaemon::reload(const ParsedCommand& command, const ServerDropIns& files) const {
  if (!bus_) return reload_by_signal(command, files);
  // Root stores the last good copy, as `warderd --reload` does: reloaded_copy.h.
  std::optional<configuration::ReloadedCopy> copy;
  if (::geteuid() == 0) copy = configuration::ReloadedCopy::read(files.invocation());
  CHECKED(bus_->call(kPath, kManager, "Reload"));
  if (!copy) return Reloaded::yes;
  if (const auto saved = copy->keep(in_force_); !saved) print_not_kept(saved.error());
  return Reloaded::yes;
}

Result<std::vector<Json>> RunningDaemon::servers() const {
  TRY(const Json all, bus_->call(kPath, kManager, "ListServers"));
  std::vector<Json> servers;
  for (const Json& item : all) servers.push_back(item);
  return servers;
}

Result<> RunningDaemon::test(const std::string& name, const std::string& tenant) const {
  CHECKED(bus_->call(kPath, kManager, "TestServer", {"ss", {name, tenant}}));
  return {};
}

Json server_named(const std::vector<Json>& servers, const std::string& name) {
  for (const Json& server : servers)
    if (text(server, "Name") == name) return server;
  return nullptr;
}

}  // namespace admin
