// HttpSessions: all sessions of HTTP clients, by Mcp-Session-Id, which has 128 random bits. A session is found only by
// the principal that began it. Unused sessions end after some time, or when their principal begins another one and has
// no room: many clients do not end their sessions. The client of an ended session gets 404 and begins again, as MCP
// says. Owned by: HttpEndpoint. Errors: exhausted: the principal, or the server, has too many sessions.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/streamable_http/session.h"

namespace streamable_http {

class HttpSessions {
 public:
  // The references must outlive the sessions.
  HttpSessions(Loop& loop, mcp::Server& server, const SessionLimits& limits);
  HttpSessions(const HttpSessions&) = delete;
  HttpSessions& operator=(const HttpSessions&) = delete;

  // A new session. It may end the session of the same principal that is idle for the longest time.
  Result<std::shared_ptr<HttpSession>> begin(mcp::Conversation::Client client);
  // nullptr: there is no such session of this principal.
  std::shared_ptr<HttpSession> find(const std::string& id, const mcp::Principal& principal) const;
  // Ends a session: its requests are cancelled.
  void end(const std::string& id) { sessions_.erase(id); }
  void end_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen);
  size_t count() const { return sessions_.size(); }

 private:
  Task<> end_unused();
  bool make_room(const mcp::Principal& principal);
  Loop& loop_;
  mcp::Server& server_;
  const SessionLimits& limits_;
  std::map<std::string, std::shared_ptr<HttpSession>> sessions_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace streamable_http
