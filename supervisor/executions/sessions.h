// Sessions: the stateful interpreters of all tenants, by name: their beginning, the turns of their calls, their end.
// A session belongs to its tenant, not to a connection. It ends: when a call in it ends without an answer of the
// program; after the policy's sessions.idle_seconds without a call; by a reset; at a reload of the policies; when the
// self-test of jails fails; when its jail ends between calls, or breaks a limit or quota there; and with the daemon.
// The answer of the call that ends a session says so, and the next call of that client begins a new session. In all
// other cases the next call to the session is refused once (not_found), and the call after it begins a new session. The
// log of the session stays (tenants/sessions.h).
// The changes of a session with a staged workspace become one proposal at its end, once its jail is gone: in the answer
// of the call that ends it, or named in the refusal. Until then calls to this name wait.
// Source: the `session` argument of execute_code. Used by: code_execution.cc, get_execution_stats.h,
// supervisor/daemon/. Errors: invalid (name, language, memory), denied (policy, withdraw()), exhausted (too many
// sessions or waiting calls), not_found (the session ended); all but withdraw() have a remedy.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "jail/language.h"
#include "jail/workspace_mount.h"
#include "policies/policy_fwd.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/loop.h"
#include "supervisor/executions/session_staging.h"
#include "supervisor/protocol/mcp/connection_user.h"
#include "supervisor/tenants/proposals/proposal_store.h"

namespace jail {
struct Host;
class Pool;
struct Report;
struct Request;
}  // namespace jail

namespace proposals {
class ProposalStores;
}

namespace tenants {
class Tenant;
}

namespace executions {

class Sessions {
 public:
  // All must outlive the sessions.
  Sessions(jail::Host& host, jail::Pool& pool, proposals::ProposalStores& proposals);
  ~Sessions();

  enum class Begin { if_there_is_none, anew, never };  // never: not_found if there is no such session
  struct Ask {
    std::shared_ptr<tenants::Tenant> tenant;
    std::shared_ptr<const policies::Policy> policy;
    std::string name;
    Begin begin = Begin::if_there_is_none;
    std::weak_ptr<mcp::ConnectionUser> client;         // of the connection
    jail::Language language = jail::Language::python;  // of the program to run
    std::optional<uint64_t> memory_bytes;              // the limit that the agent asked for; nullopt: no request
    jail::WorkspaceAccess access = jail::WorkspaceAccess::direct;  // of a new session
    bool names_access = false;  // the agent asked for it: a session that began with another one is refused
    std::string execution;      // id of the execution, for withdraw()
  };

 private:
  struct Entry;

 public:
  // The right to run the session's next program. The destructor gives it back. Must not outlive the Sessions.
  class [[nodiscard]] Turn {
   public:
    Turn(Sessions& sessions, std::shared_ptr<Entry> entry, std::weak_ptr<mcp::ConnectionUser> client)
        : sessions_(&sessions), entry_(std::move(entry)), client_(std::move(client)) {}
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // The request's memory limit must be memory_bytes(). A cancelled run ends the session.
    Task<Result<jail::Report>> run(jail::Request request);
    const std::string& name() const;
    uint64_t memory_bytes() const;  // the limit of each program of the session
    // What the session may still use of this limit, while no program of it runs.
    uint64_t room_bytes() const;
    // Ends the session, while no program of it runs.
    void end(std::string why);
    jail::WorkspaceAccess access() const;  // of each program of the session
    // The session's changes; nullptr: it is not staged, or stage() was not called yet.
    const std::shared_ptr<SessionStaging>& staging() const;
    // Call it before the first program of a staged session.
    void stage(std::shared_ptr<proposals::ProposalStore> store);
    // The `session` object of the answer: {name, call}, and {ended, remedy} if the session ended. The client's next
    // call then gets no error about this end. After a reset of a staged session: {earlier_proposal}, its id.
    Json state_json();

   private:
    Sessions* sessions_;
    std::shared_ptr<Entry> entry_;  // nullptr: moved from
    std::weak_ptr<mcp::ConnectionUser> client_;
  };

  // Waits for the session's turn: one call at a time, first come, first served. After a cancelled call, the caller is
  // out of the queue.
  Task<Result<Turn>> enter(Ask ask);
  // Waits for the session's turn, and ends the session.
  struct Ended {
    bool existed = false;
    std::optional<proposals::Proposal> proposal;  // not concluded (ProposalStores::conclude)
    bool ended_well = false;                      // its last program
    std::optional<Error> lost;                    // the error that lost its staged changes
  };
  Task<Result<Ended>> end(Ask ask);
  // Refuses (denied) the waiting call of this execution. No effect if it does not wait.
  void withdraw(const std::string& execution);
  // The sessions of a tenant: [{name, calls, state, idle_seconds, expires_in_seconds, memory_bytes}].
  Json list(const std::string& tenant) const;
  // Ends idle sessions at once, and busy sessions after the answer of their running call.
  void end_all(const std::string& why);
  // The same for the sessions under the policies that `chosen` chooses.
  void end_under(const std::function<bool(const policies::Policy&)>& chosen, const std::string& why);
  // The same for the sessions of a tenant and its named workspaces. count_of(): how many it has.
  void end_of(const std::string& account, const std::string& why);
  size_t count_of(const std::string& account) const;
  // The same for one tenant or named workspace that moves to another machine, where the logs are read; no call may run.
  Task<> leave_of(std::string tenant);
  // At the daemon's end, when no call runs: ends the staged sessions, and waits until their changes are proposals. The
  // next daemon tells the clients about the end, because the logs stay open.
  Task<> finish();

 private:
  struct Key {
    std::string tenant, name;
    auto operator<=>(const Key&) const = default;
  };
  struct WaitingCall;
  void end_if(const std::function<bool(const Entry&)>& chosen, const std::string& why);
  struct EndedSession {
    Key key;
    std::string why;
    uint32_t calls;
    Monotonic::time_point at;
    std::weak_ptr<mcp::ConnectionUser> reported;  // the client that knows of the end from an answer; it gets no error
  };
  enum class QueueEnd { last, first };  // among the waiting calls
  Task<Result<>> wait_turn(const Key& key, const Ask& ask, QueueEnd position = QueueEnd::last);
  Result<> check_ended(const Key& key, const Ask& ask);
  Result<> check_fits(const Entry& entry, const Ask& ask) const;
  enum class Settling {  // who waits for the end of a session that is being settled
    by_call,             // a call, which concludes the proposal itself
    by_reset,            // a call that begins a new session
    by_itself,           // nobody: the next call is refused, and told
    by_daemon,           // finish()
  };
  std::shared_ptr<Entry> find(const Key& key) const;
  void reset(const std::shared_ptr<Entry>& entry, Settling how);
  static void end_now(Entry& entry, std::string why);
  void put_away(const std::shared_ptr<Entry>& entry, std::string why);
  bool needs_settling(const Entry& entry) const;
  void begin_settling(const std::shared_ptr<Entry>& entry, Settling how);
  Task<> settle(std::shared_ptr<Entry> entry, Settling how);
  Task<> conclude(Entry& entry);
  Result<> check_left_open(const Ask& ask) const;
  Result<> check_room(const Ask& ask) const;
  void leave(const std::shared_ptr<Entry>& entry);
  static void wake_soon(Loop& loop, const std::shared_ptr<Entry>& entry);
  static void wake_next(Loop& loop, const std::shared_ptr<Entry>& entry);
  void bury(std::shared_ptr<Entry> entry, std::string why);
  void note_ended(EndedSession removed);
  Task<> hold_quota(std::shared_ptr<Entry> entry);
  void tend();

  jail::Host& host_;
  jail::Pool& pool_;
  proposals::ProposalStores& proposals_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::deque<EndedSession> ended_;  // ended sessions that the next call must report, oldest first
  Deadline tending_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace executions
