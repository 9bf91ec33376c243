// BusClient: calls warderd over D-Bus, for the commands of warder-admin. Answers are JSON.
// Source: units/dbus/*.xml describes the interfaces. Errors: unavailable (no bus, no warderd on it, or one that ended
// or does not answer; the last with ETIMEDOUT: warderd may still do what was asked), and warderd's refusals, in its
// words.
#pragma once
#include <systemd/sd-bus.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/admin/values.h"

namespace admin {

inline constexpr char kPath[] = "/org/warder/Warder1";
inline constexpr char kManager[] = "org.warder.Warder1.Manager";
inline constexpr char kExecution[] = "org.warder.Warder1.Execution";
inline constexpr char kTenant[] = "org.warder.Warder1.Tenant";
inline constexpr char kCluster[] = "org.warder.Warder1.Cluster";

class BusClient {
 public:
  // bus: connects without asking whether warderd is there, and starts no daemon.
  enum class Reach { daemon, bus };
  // `where`: system, session, an address; empty: $WARDER_BUS, else the system bus, else the user's. A daemon that is
  // merely stopped is started by systemd. Errors: unavailable within 2 s (5 s while systemd starts it): why there is no
  // daemon, and the remedy (daemon_state.h).
  static Result<BusClient> connect(const std::string& where, Reach reach = Reach::daemon);

  // Whether warderd is on the bus. Asks only the bus, so that no daemon is started.
  bool has_daemon() const;
  // The bus's name of the connection that is warderd: another daemon has another name. Empty: no daemon.
  std::string daemon_connection() const;
  // From now on, a call that needs authentication is refused, and polkit does not ask the user.
  void without_authentication() { may_ask_ = MayAsk::no; }
  // From now on, a call without an answer fails after this time. Before: 130 s, because polkit may ask the user, and 10
  // s where nobody is asked.
  void wait_at_most(std::chrono::microseconds patience) { patience_usec_ = static_cast<uint64_t>(patience.count()); }

  // One letter for each argument: s, t, u, b, or a for an object, which becomes a{sv} with texts, numbers (t) and
  // booleans.
  struct Arguments {
    std::string types;
    std::vector<Json> values;
  };
  // The values of the answer: null for no value, the value itself, or an array of several values.
  Result<Json> call(const std::string& path, const std::string& interface, const std::string& member,
                    const Arguments& arguments = {}) const;
  // The same for arguments of any types, which `append` appends. Negative result of `append`: -errno.
  using Append = std::function<int(sd_bus_message* to)>;
  Result<Json> call_with(const std::string& path, const std::string& interface, const std::string& member,
                         const Append& append) const;
  // A call that changes nothing: no person is asked to authenticate, and it is answered within 10 s or fails.
  Result<Json> read(const std::string& path, const std::string& interface, const std::string& member,
                    const Append& append = {}) const;
  // Properties by name.
  Result<Json> properties(const std::string& path, const std::string& interface) const;
  // The properties of each execution: running executions first, then ended ones, each oldest first.
  Result<std::vector<Json>> executions() const;
  // The ids of all executions: the living ones first, oldest first.
  Result<std::vector<std::string>> execution_ids() const;
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
  enum class MayAsk { yes, no };
  Result<Json> exchange(const std::string& path, const std::string& interface, const std::string& member,
                        const Append& append, MayAsk may_ask) const;

  std::unique_ptr<sd_bus, Close> bus_;
  MayAsk may_ask_ = MayAsk::yes;
  uint64_t patience_usec_ = 0;  // 0: as the call needs
};

// Read an answer of the object manager. Executions are sorted as by BusClient::executions(), tenants by name.
std::vector<Json> executions_in(const Json& objects);
std::vector<Json> tenants_in(const Json& objects);

// The path of an execution's object, with the id encoded by sd_bus_path_encode(3).
std::string execution_path(const std::string& id);

// Appends the arguments of a call. Negative result: -errno.
int append_arguments(sd_bus_message* to, const BusClient::Arguments& arguments);
// The message's values that were not read yet.
Result<std::vector<Json>> read_values(sd_bus_message* message);

}  // namespace admin
