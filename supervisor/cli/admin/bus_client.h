// BusClient: warderd as the commands for people see it, over D-Bus; what it answers, as JSON.
// Errors: unavailable (no bus, nobody there), and what warderd refused, in its words.
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

  // Whether warderd is on it; asked of the bus, which starts none for it.
  bool has_daemon() const;
  // From now on, who would have to authenticate is refused.
  void ask_nobody_to_authenticate() { may_ask_ = 0; }

  // The arguments are strings and, after them, numbers: "s", "sstu", ...
  struct Arguments {
    std::string types;
    std::vector<Json> values;
  };
  // All values of the answer: nothing, one, or an array of several.
  Result<Json> call(const std::string& path, const std::string& interface, const std::string& member,
                    const Arguments& arguments = {}) const;
  // Properties by name.
  Result<Json> properties(const std::string& path, const std::string& interface) const;
  // Executions: their properties, oldest first; those that ended last.
  Result<std::vector<Json>> executions() const;
  // Tenants: their properties, by name.
  Result<std::vector<Json>> tenants() const;

  // Calls `take` for each signal of the Manager, until it says no more. Errors: unavailable, too, when the daemon ends.
  using Take = std::function<bool(const std::string& member, const Json& arguments)>;
  Result<> follow(const Take& take) const;

 private:
  struct Close {
    void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
  };
  std::unique_ptr<sd_bus, Close> bus_;
  int may_ask_ = 1;  // as sd_bus_message_set_allow_interactive_authorization() wants it
};

// Of what the object manager answers: the properties of executions, oldest first, those that ended last; of tenants, by
// name.
std::vector<Json> executions_in(const Json& objects);
std::vector<Json> tenants_in(const Json& objects);

// The message's values from where it is read to its end.
Result<std::vector<Json>> read_values(sd_bus_message* message);

}  // namespace admin
