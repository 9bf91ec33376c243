// Sessions: the stateful interpreters of all tenants, by name. Who may begin one, whose turn it is, when it is over.
// Source: execute_code's `session`. A session belongs to its tenant, not to a connection; it ends when a call in it
// ends otherwise than by an answer, when nobody calls it for the policy's sessions.idle_seconds, by a reset, when
// policies are reloaded, and with the daemon. A call that ends it says so in its answer, and its client's next call
// begins anew. Else whoever calls it next is told so, once; the call after that begins anew. What was done in it stays
// in its log (tenants/sessions.h). Errors: invalid (name, memory), denied (policy), exhausted (too many), not_found
// (gone), each with its remedy.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "jail/session.h"
#include "policies/policy.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json_fwd.h"
#include "supervisor/tenants/tenant.h"

namespace executions {

class Sessions {
 public:
  // Both must outlive the sessions.
  Sessions(jail::Host& host, jail::Pool& pool);
  ~Sessions();

  enum class Begin { if_there_is_none, anew };
  struct Ask {
    std::shared_ptr<tenants::Tenant> tenant;
    std::shared_ptr<const policies::Policy> policy;
    std::string name;
    Begin begin = Begin::if_there_is_none;
    std::weak_ptr<void> client;                        // who asks: the connection's user data
    jail::Language language = jail::Language::python;  // of the program that is to run
    std::optional<uint64_t> memory_bytes;              // where the agent asked for some
    std::string execution;                             // under which it waits
  };

 private:
  struct Entry;

 public:
  // The right to run the session's next program; given back when it is destroyed. Must not outlive the Sessions.
  class [[nodiscard]] Turn {
   public:
    Turn(Sessions& sessions, std::shared_ptr<Entry> entry, std::weak_ptr<void> client)
        : sessions_(&sessions), entry_(std::move(entry)), client_(std::move(client)) {}
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // `request` has the memory of the session.
    Task<Result<jail::Report>> run(jail::Request request);
    const std::string& name() const;
    uint64_t memory_bytes() const;  // what each program of the session may use
    // For the answer: {name, call}, and that it ended. Whoever is told so need not hear it again from its next call.
    Json tell();

   private:
    Sessions* sessions_;
    std::shared_ptr<Entry> entry_;  // nullptr: moved from
    std::weak_ptr<void> client_;
  };

  // Waits its turn: one call at a time, first come, first served. Cancelling leaves the queue.
  Task<Result<Turn>> enter(Ask ask);
  // Waits its turn, and ends the session. Whether there was one.
  Task<Result<bool>> end(Ask ask);
  // Who waits under that name is refused (denied); nobody does: nothing.
  void withdraw(const std::string& execution);
  // Of a tenant: [{name, calls, state, idle_seconds, expires_in_seconds, memory_bytes}].
  Json list(const std::string& tenant) const;
  // Ends what rests, at once, and what runs when it has been answered.
  void end_all(const std::string& why);

 private:
  struct Key {
    std::string tenant, name;
    auto operator<=>(const Key&) const = default;
  };
  struct Waiting;
  struct Gone {
    Key key;
    std::string why;
    uint32_t calls;
    Monotonic::time_point at;
    std::weak_ptr<void> told;  // who knows it already, from the answer of the call that ended it
  };
  Task<Result<>> wait_turn(const Key& key, const std::string& execution);
  Result<> check_gone(const Key& key, const Ask& ask);
  Result<> check_left_open(const Ask& ask) const;
  Result<> check_room(const Ask& ask) const;
  void leave(const std::shared_ptr<Entry>& entry);
  void wake_next(const std::shared_ptr<Entry>& entry);
  void bury(std::shared_ptr<Entry> entry, std::string why);
  void note_gone(Gone gone);
  Task<> hold_quota(std::shared_ptr<Entry> entry);
  void tend();

  jail::Host& host_;
  jail::Pool& pool_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::deque<Gone> gone_;  // oldest first; not told to anybody yet
  Deadline tending_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace executions
