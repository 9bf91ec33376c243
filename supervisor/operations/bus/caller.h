// Authority: identifies the sender of a D-Bus message and decides what the sender may do. Source: the bus's
// credentials.
//
// Root and the daemon's user have all rights. A user that a tenant's rule fits may act on that tenant's executions and
// read their output. All other users need polkit's permission. polkit is asked on the system bus only: on other buses
// any process could take polkit's name. Asking is asynchronous: a slow polkit or a person at a password prompt blocks
// no other work.
//
// What a caller sees follows the same order: root, the daemon's user and callers with see-all see every tenant, others
// see their own. A bus never uses a unique name twice, so the user of a name is asked for once; polkit's answer about
// see-all is used for a minute.
// Used by: bus_objects.h.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/tenant_rules.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/operations/bus/connection.h"

namespace bus {

// The rights that polkit knows: units/dbus/org.warder.Warder1.policy.
enum class Right { manage_executions, approve_calls, reveal_personal_data, configure, see_all };

// Viewer: a connection on the bus, and the tenants that it may see.
struct Viewer {
  policies::Peer peer;
  std::string tenant;  // that the caller would be over MCP; empty: no tenant
  bool sees_all = false;
  bool sees(std::string_view account) const { return sees_all || (!tenant.empty() && tenant == account); }
};

class Authority {
 public:
  struct Rules {
    uid_t own_uid = 0;  // user of the daemon
    bool polkit = false;
    // The tenant that the rules give to a process; empty: no tenant.
    std::function<std::string(const policies::Peer&)> tenant_of;
  };
  Authority(Loop& loop, BusConnection& connection, Rules rules)
      : loop_(loop), connection_(connection), rules_(std::move(rules)) {}

  // Errors: unavailable: the sender has left the bus; exhausted: the sender has too many calls under way.
  Task<Result<policies::Peer>> identify(MessagePtr call);
  // What the sender of the call may see. polkit is asked without a dialog; without its answer, the caller sees its own.
  // Errors: those of identify().
  Task<Result<Viewer>> view(MessagePtr call);
  // The same for a unique name.
  Task<Result<Viewer>> view_of(std::string sender);
  // What is known of a name that view() answered for; nullopt: nothing.
  std::optional<Viewer> known_view(std::string_view sender) const;
  // Whether view_of() would ask polkit again.
  bool is_stale(std::string_view sender) const;
  // The tenant that the caller would be over MCP; empty: no tenant.
  std::string tenant_of(const policies::Peer& caller) const;
  // Whether the caller is root or the daemon's user, and so has all rights.
  bool is_master(const policies::Peer& caller) const { return caller.uid == 0 || caller.uid == rules_.own_uid; }
  // Whether the caller has that right. `tenant`: owner of the execution; empty: no tenant owns the object. Errors:
  // denied, naming the right and the users that have it; exhausted: the sender asks too often at once.
  Task<Result<policies::Peer>> allow(MessagePtr call, Right right, std::string tenant);
  // The same for an object that no tenant owns.
  Task<Result<policies::Peer>> allow(sd_bus_message* call, Right right) {
    return allow(share(call), right, std::string());
  }

 private:
  struct Turn;
  // One name on the bus. `until`: the end of sees_all's use; nullopt: it never changes.
  struct KnownSender {
    policies::Peer peer;
    bool sees_all = false;
    std::optional<Monotonic::time_point> until;
    Monotonic::time_point used;
  };
  using WaitingCalls = std::vector<OneShot<Result<>>::Resolver>;
  Task<Result<policies::Peer>> identify_name(std::string sender);
  Task<Result<>> learn(std::string sender);
  // person: polkit may ask the person at the client, which takes up to minutes.
  enum class PolkitMayAsk { no_user, person };
  Task<Result<>> ask_polkit(std::string sender, PolkitMayAsk may_ask, uid_t user, Right right);
  Viewer viewer(const KnownSender& sender) const;
  void forget_oldest();

  Loop& loop_;
  BusConnection& connection_;
  Rules rules_;
  std::map<std::string, uint32_t, std::less<>> asking_;  // calls by sender, and questions to polkit by user
  std::map<std::string, KnownSender, std::less<>> senders_;
  std::map<std::string, WaitingCalls, std::less<>> learning_;  // by sender: the calls that wait for the same answers
};

}  // namespace bus
