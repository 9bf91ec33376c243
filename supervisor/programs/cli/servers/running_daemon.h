// RunningDaemon: the daemon that `warder servers` configures, if it runs: reloads it, starts its servers, reads their
// state. Over D-Bus; without a bus, a daemon can only be reloaded.
// Source: --bus, --socket, and the socket and state folder of the configuration. Used by: the commands of this folder.
// Errors: those of the daemon; a missing daemon is no error.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/daemon/configuration/files_in_force.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/servers/drop_ins.h"

namespace admin {

class RunningDaemon {
 public:
  // Starts no daemon.
  static RunningDaemon find(const ParsedCommand& command);
  // systemd starts a stopped daemon. Errors: those of BusClient::connect().
  static Result<RunningDaemon> reach(const ParsedCommand& command);

  bool on_bus() const { return bus_.has_value(); }
  // nullopt: no daemon on a bus, or an older version, without these properties.
  const std::optional<configuration::FilesInForce>& files_in_force() const { return in_force_; }
  // Whether the daemon reads the configuration that `files` changes. True for an older version. Errors: invalid, naming
  // both files.
  Result<> expect_same_configuration(const ServerDropIns& files) const;
  // Asked before policies are changed: whether the daemon reads the policies in `folders`. Errors: invalid, naming
  // both.
  Result<> expect_same_policies(const std::vector<std::string>& folders) const;

  enum class Reloaded { yes, no_daemon };
  // Errors: the configuration was not reloaded; every mistake, one a line. invalid: the daemon reads another
  // configuration.
  Result<Reloaded> reload(const ParsedCommand& command, const ServerDropIns& files) const;
  // On a bus only. Properties of ListServers (units/dbus/org.warder.Warder1.Manager.xml).
  Result<std::vector<Json>> servers() const;
  Result<> test(const std::string& name, const std::string& tenant) const;

 private:
  void read_files();

  std::optional<BusClient> bus_;
  std::optional<configuration::FilesInForce> in_force_;
};

// The entry of that server; null: absent.
Json server_named(const std::vector<Json>& servers, const std::string& name);

}  // namespace admin
