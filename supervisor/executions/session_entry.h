// Sessions::Entry: one session in the table of Sessions, and the calls that wait for their turn in it.
// Used by: sessions.cc, session_ends.cc. No errors.
#pragma once
#include <deque>

#include "jail/execution/session.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/executions/sessions.h"

namespace executions {

// The remedy where a session has ended.
inline constexpr char kRestartSession[] =
    "call again: the call begins a new session of this name, without the variables; session:///<name> has the log";

struct Sessions::WaitingCall {
  OneShot<Result<>>::Resolver turn;
  std::string execution;
  Begin begin;
  std::weak_ptr<mcp::ConnectionUser> client;
  Result<> next;  // what the call gets with its turn: an error if the session ended during the wait
};

struct Sessions::Entry {
  Entry(jail::Host& host, jail::Pool& pool) : session(host, pool) {}
  Key key;
  std::shared_ptr<tenants::Tenant> tenant;
  std::shared_ptr<const policies::Policy> policy;
  jail::Language language = jail::Language::python;  // of the session's first program
  uint64_t memory_bytes = 0;
  jail::Session session;
  std::shared_ptr<const void> watches_opened;  // files that the session may have mapped
  bool busy = true;
  bool reported = false;                     // the last call failed, and its error reported the end
  std::weak_ptr<mcp::ConnectionUser> knows;  // the client whose answer reported the end
  bool counting = false;                     // a count of the session's workspace runs
  jail::WorkspaceAccess access = jail::WorkspaceAccess::direct;
  std::shared_ptr<SessionStaging> staging;
  bool is_settling = false;          // over, and its staged changes become a proposal: no call can have the turn
  bool was_ended_by_daemon = false;  // and by no program, limit or signal
  Ended settled;                     // after the settling
  std::string earlier_proposal;      // of the session that this one replaced, until an answer has told it
  std::string ended;                 // the reason of the end, if the session is over
  std::string end_after_call;        // why the session ends after the running call; empty: it continues
  Monotonic::time_point rests_since = Monotonic::now();
  std::deque<std::shared_ptr<WaitingCall>> waiting;
};

}  // namespace executions
