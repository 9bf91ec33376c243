// Daemon state: why no warderd is on a bus, as systemd and the journal know it, and the one remedy that fits.
// Source: the properties of warder.service over D-Bus, the newest error of the unit in the journal of systemd, if the
// user may read it. Used by: bus_client.cc, doctor_daemon.cc, the hidden command `unreachable`, which `warder run` asks.
#pragma once
#include <systemd/sd-bus.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "supervisor/base/result.h"

namespace admin {

// Whose systemd: that of the machine, or that of one user.
enum class ServiceManager { system, user };

// What systemd says about warder.service.
struct UnitState {
  std::string load;      // "loaded", "not-found"
  std::string active;    // "active", "activating", "deactivating", "failed", "inactive"
  std::string sub;       // "auto-restart" between two tries
  std::string result;    // of the last run: "success", "exit-code", "start-limit-hit"
  int exit_code = 0;    // CLD_EXITED, CLD_KILLED; 0: it has not run
  int exit_status = 0;  // the status, or the signal

  bool fails() const { return active == "failed" || sub == "auto-restart"; }
};

// The error to show. `last_error`: the newest error of the daemon in the journal; may be empty. Nothing is asked.
Error unreachable_error(const UnitState& unit, ServiceManager manager, const std::string& last_error);
// warder.service of the manager on this bus; nothing if no systemd answers there within a second.
std::optional<UnitState> unit_state(sd_bus* bus);
// The newest message of the unit of priority "error" or worse; empty: none, or the user may not read it.
std::string last_logged_error(ServiceManager manager);

// Why the daemon on this bus (system or session) does not answer, for somebody who cannot connect to its socket; starts
// nothing. Empty: systemd cannot be asked, does not know the unit, or says that it runs.
std::optional<Error> why_unreachable(const std::string& bus_name);

// Lets systemd start a daemon that is merely stopped, and waits until `is_there`: up to 2 s, and up to 5 s while
// systemd says that it starts. `bus_name`: system, session or an address; `otherwise`: the error where no systemd knows
// the unit. Errors: unavailable.
Result<> start_daemon(sd_bus* bus, const std::string& bus_name, const std::function<bool()>& is_there, Error otherwise);

}  // namespace admin
