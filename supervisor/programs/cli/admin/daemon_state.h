// Daemon state: the reason why no warderd is on a bus, as systemd and its journal record it, and the remedy for it.
// Source: the properties of warder.service over D-Bus, the newest error of the unit in the journal of systemd, if the
// user may read it. Used by: bus_client.cc, doctor_daemon.cc, the hidden command `unreachable`, which `warder run`
// asks.
#pragma once
#include <systemd/sd-bus.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "supervisor/base/result.h"

namespace admin {

// The service manager of the machine, or of one user.
enum class ManagerScope { system, user };

// The properties of warder.service that systemd publishes.
struct UnitState {
  std::string load;     // "loaded", "not-found"
  std::string active;   // "active", "activating", "deactivating", "failed", "inactive"
  std::string sub;      // "auto-restart" between two tries
  std::string result;   // of the last run: "success", "exit-code", "start-limit-hit"
  int exit_code = 0;    // CLD_EXITED, CLD_KILLED; 0: it has not run
  int exit_status = 0;  // the status, or the signal

  bool fails() const { return active == "failed" || sub == "auto-restart"; }
};

// The error for a user. `last_error`: the newest error of the daemon in the journal; may be empty.
Error unreachable_error(const UnitState& unit, ManagerScope manager, const std::string& last_error);
// warder.service of the manager on this bus; empty if no systemd answers there within a second.
std::optional<UnitState> unit_state(sd_bus* bus);
// The newest message of the unit of priority "error" or worse; empty: absent, or the user
// may not read the journal.
std::string last_logged_error(ManagerScope manager);

// Why the daemon on this bus (system or session) does not answer, for a user that cannot connect to its socket; does
// not start it. Empty: systemd cannot be asked, does not know the unit, or says that it runs.
std::optional<Error> why_unreachable(const std::string& bus_name);

// Lets systemd start a stopped daemon, and waits until `is_there`: up to 2 s, and up to 5 s while
// systemd says that it starts. `bus_name`: system, session or an address; `otherwise`: the error where no systemd knows
// the unit. Errors: unavailable.
Result<> start_daemon(sd_bus* bus, const std::string& bus_name, const std::function<bool()>& is_there, Error otherwise);

}  // namespace admin
