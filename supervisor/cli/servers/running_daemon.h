// RunningDaemon: the daemon that `warder servers` configures, if it runs: reloads it, starts its servers, reads their
// state. Over D-Bus; a daemon that is on no bus can only be reloaded.
// Source: --bus, --socket, and the socket and state folder of the configuration. Used by: the commands of this folder.
// Errors: those of the daemon; a missing daemon is none.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cli/admin/bus_client.h"
#include "supervisor/cli/servers/drop_ins.h"

namespace admin {

class RunningDaemon {
 public:
  // Starts no daemon.
  static RunningDaemon find(const Given& given);
  // systemd starts a daemon that is merely stopped. Errors: those of BusClient::connect().
  static Result<RunningDaemon> reach(const Given& given);

  bool on_bus() const { return bus_.has_value(); }
  enum class Reloaded { yes, no_daemon };
  // Errors: nothing was reloaded; every mistake, one a line.
  Result<Reloaded> reload(const Given& given, const ServerDropIns& files) const;
  // On a bus only. Properties of ListServers (units/dbus/org.warder.Warder1.Manager.xml).
  Result<std::vector<Json>> servers() const;
  Result<> test(const std::string& name) const;

 private:
  std::optional<BusClient> bus_;
};

// The entry of that server; null: none.
Json server_named(const std::vector<Json>& servers, const std::string& name);

}  // namespace admin
