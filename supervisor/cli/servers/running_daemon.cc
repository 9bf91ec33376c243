#include "supervisor/cli/servers/running_daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "supervisor/cli/terminal.h"
#include "supervisor/configuration/last_good.h"
#include "supervisor/configuration/reload_exchange.h"

namespace admin {
namespace {

constexpr std::chrono::seconds kReloadLimit{80};

// After a reload over D-Bus root stores the last good copy, as `warderd --reload` does: last_good.h.
Result<> keep_copy(const ServerDropIns& files) {
  if (::geteuid() != 0 || !files.invocation().flags.config.empty()) return {};
  const auto loaded = configuration::load(files.invocation());
  if (!loaded.good()) return {};
  return configuration::keep_last_good(loaded.options.state, loaded.document, loaded.options.policies);
}

// A daemon on no bus: by SIGHUP.
Result<RunningDaemon::Reloaded> reload_by_signal(const Given& given, const ServerDropIns& files) {
  const std::string socket = given.socket.empty() ? files.options().socket : given.socket;
  TRY(const bool runs, configuration::is_daemon_running(files.options().state));
  if (!runs) return RunningDaemon::Reloaded::no_daemon;
  TRY(const auto answer, configuration::ask_for_reload(files.options().state, socket, kReloadLimit));
  if (!answer.good) return fail(Code::internal, fmt::format("{}", fmt::join(answer.lines, "\n")));
  for (const auto& line : answer.lines) cli::print_text(stderr, line + "\n");
  return RunningDaemon::Reloaded::yes;
}

}  // namespace

RunningDaemon RunningDaemon::find(const Given& given) {
  RunningDaemon daemon;
  auto bus = BusClient::connect(given.bus, BusClient::Reach::bus);
  if (bus && bus->has_daemon()) daemon.bus_ = *std::move(bus);
  return daemon;
}

Result<RunningDaemon> RunningDaemon::reach(const Given& given) {
  RunningDaemon daemon;
  TRY(daemon.bus_, BusClient::connect(given.bus));
  return daemon;
}

Result<RunningDaemon::Reloaded> RunningDaemon::reload(const Given& given, const ServerDropIns& files) const {
  if (!bus_) return reload_by_signal(given, files);
  CHECKED(bus_->call(kPath, kManager, "Reload"));
  if (const auto kept = keep_copy(files); !kept)
    cli::print_text(stderr, "the last good copy of the configuration was not stored: " + kept.error().what + "\n");
  return Reloaded::yes;
}

Result<std::vector<Json>> RunningDaemon::servers() const {
  TRY(const Json all, bus_->call(kPath, kManager, "ListServers"));
  std::vector<Json> servers;
  for (const Json& one : all) servers.push_back(one);
  return servers;
}

Result<> RunningDaemon::test(const std::string& name) const {
  CHECKED(bus_->call(kPath, kManager, "TestServer", {"s", {name}}));
  return {};
}

Json server_named(const std::vector<Json>& servers, const std::string& name) {
  for (const Json& one : servers)
    if (text(one, "Name") == name) return one;
  return nullptr;
}

}  // namespace admin
