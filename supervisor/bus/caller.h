// Authority: identifies the sender of a D-Bus message and decides what the sender may do. Source: the bus's
// credentials.
//
// Root and the daemon's user have all rights. A user that a tenant's rule fits may act on that tenant's executions and
// read their output. All other users need polkit's permission. polkit is asked on the system bus only: on other buses
// any process could take polkit's name. Asking is asynchronous: a slow polkit or a person at a password prompt blocks
// no other work.
// Used by: bus_objects.h.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policies/tenant_rules.h"
#include "supervisor/bus/connection.h"

namespace bus {

// The rights that polkit knows: units/org.warder.Warder1.policy.
enum class Right { manage_executions, approve_calls, reveal_personal_data, configure };

class Authority {
 public:
  struct Rules {
    uid_t own_uid = 0;  // user of the daemon
    bool polkit = false;
    // The tenant that the rules give to a process; empty: no tenant.
    std::function<std::string(const policies::Peer&)> tenant_of;
  };
  Authority(BusConnection& connection, Rules rules) : connection_(connection), rules_(std::move(rules)) {}

  // Errors: unavailable: the sender has left the bus; exhausted: the sender has too many calls under way.
  Task<Result<policies::Peer>> identify(MessagePtr call);
  // The tenant that the caller would be over MCP; empty: no tenant.
  std::string tenant_of(const policies::Peer& caller) const;
  // Whether the caller is root or the daemon's user, and so has all rights.
  bool is_master(const policies::Peer& caller) const { return caller.uid == 0 || caller.uid == rules_.own_uid; }
  // Whether the caller has that right. `tenant`: owner of the execution; empty: no tenant owns the object. Errors:
  // denied, naming the right and the users that have it; exhausted: the sender asks too often at once.
  Task<Result<policies::Peer>> allow(MessagePtr call, Right right, std::string tenant);

 private:
  struct Turn;
  Task<Result<>> ask_polkit(MessagePtr call, uid_t user, Right right);

  BusConnection& connection_;
  Rules rules_;
  std::map<std::string, uint32_t, std::less<>> asking_;  // calls by sender, and questions to polkit by user
};

}  // namespace bus
