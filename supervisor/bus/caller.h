// Caller: who sent a message over the bus, as the bus says, and whether they may do what they ask for.
//
// Root and the user that the daemon runs as may do everything; whoever belongs to a tenant may act on that tenant's
// executions and read their output; all others may where polkit says so (system bus only: elsewhere anybody could be
// polkit). Asking is asynchronous: a slow polkit or a person at a password prompt keeps nobody waiting.
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

// What polkit is asked about: units/org.warder.Warder1.policy.
enum class Right { manage_executions, approve_calls, configure };

class Authority {
 public:
  struct Rules {
    uid_t own_uid = 0;  // of the daemon
    bool polkit = false;
    // The tenant that such a process would be; empty: none.
    std::function<std::string(const policies::Peer&)> tenant_of;
  };
  Authority(BusConnection& connection, Rules rules) : connection_(connection), rules_(std::move(rules)) {}

  // Errors: unavailable when the sender has gone.
  Task<Result<policies::Peer>> identify(MessagePtr call);
  // The tenant that they would be over MCP; empty: none.
  std::string tenant_of(const policies::Peer& caller) const;
  // Who needs nobody's leave.
  bool is_master(const policies::Peer& caller) const { return caller.uid == 0 || caller.uid == rules_.own_uid; }
  // `tenant`: whose execution is concerned; empty: nobody's in particular.
  // Errors: denied, naming the right and who has it; exhausted when the sender asks for too much at once.
  Task<Result<policies::Peer>> allow(MessagePtr call, Right right, std::string tenant);

 private:
  struct Turn;
  Task<Result<>> ask_polkit(MessagePtr call, uid_t user, Right right);

  BusConnection& connection_;
  Rules rules_;
  std::map<std::string, uint32_t, std::less<>> asking_;  // by sender, and questions to polkit by user
};

}  // namespace bus
