// BusClient: calls warderd over D-Bus, for the commands of warder-admin. Answers are JSON.
// Source: units/dbus/*.xml describes the interfaces. Errors: unavailable (no bus, or no warderd on it), and warderd's
// refusals, in its words.
#pragma once
#include <systemd/sd-bus.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/cli/admin/values.h"

namespace admin {

inline constexpr char kPath[] = "/org/warder/Warder1";
inline constexpr char kManager[] = "org.warder.Warder1.Manager";
inline constexpr char kExecution[] = "org.warder.Warder1.Execution";
inline constexpr char kTenant[] = "org.warder.Warder1.Tenant";

class BusClient {
 public:
  // `where`: system, session, an address; empty: $WARDER_BUS, else the system bus, else the user's.
  static Result<BusClient> connect(const std::string& where);

  // Whether warderd is on the bus. Asks only the bus, so that no daemon is started.
  bool has_daemon() const;
  // From now on, a call that needs authentication is refused, and polkit does not ask the user.
  void ask_nobody_to_authenticate() { may_ask_ = 0; }

  // One letter for each argument: s, t, u, b, or a for an object, which becomes a{sv} with texts, numbers (t) and
  // booleans.
  struct Arguments {
    std::string types;
    std::vector<Json> values;
  };
  // The values of the answer: null for no value, the value itself, or an array of several values.
  Result<Json> call(const std::string& path, const std::string& interface, const std::string& member,
                    const Arguments& arguments = {}) const;
  // Properties by name.
  Result<Json> properties(const std::string& path, const std::string& interface) const;
  // The properties of each execution: running executions first, then ended ones, each oldest first.
  Result<std::vector<Json>> executions() const;
  // The properties of each tenant, sorted by name.
  Result<std::vector<Json>> tenants() const;

  // Calls `take` for each signal of the Manager, until `take` returns false. Errors: unavailable, also when the daemon
  // ends.
  using Take = std::function<bool(const std::string& member, const Json& arguments)>;
  Result<> follow(const Take& take) const;

 private:
  struct Close {
    void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
  };
  std::unique_ptr<sd_bus, Close> bus_;
  int may_ask_ = 1;  // as sd_bus_message_set_allow_interactive_authorization() wants it
};

// Read an answer of the object manager. Executions are sorted as by BusClient::executions(), tenants by name.
std::vector<Json> executions_in(const Json& objects);
std::vector<Json> tenants_in(const Json& objects);

// The message's values that were not read yet.
Result<std::vector<Json>> read_values(sd_bus_message* message);

}  // namespace admin
