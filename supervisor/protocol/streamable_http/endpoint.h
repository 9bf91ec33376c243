// HttpEndpoint: serves MCP over Streamable HTTP, at one path: the revisions 2025-03-26 to 2025-11-25 with sessions, and
// 2026-07-28 without. Owns the HTTP connections and the sessions.
// Source of connections: mcp::Listener, for clients of its Unix socket whose first byte begins an HTTP request, and
// HttpListener, for TCP. Used by: supervisor/daemon, tests. Errors: of clients: answered with a status.
#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/listener.h"
#include "supervisor/protocol/streamable_http/connection.h"
#include "supervisor/protocol/streamable_http/failed_attempts.h"
#include "supervisor/protocol/streamable_http/sessions.h"

namespace streamable_http {

struct HttpSettings {
  std::string path = "/mcp";
  std::vector<std::string> hosts;    // further names in the Host field, with or without a port
  std::vector<std::string> origins;  // of web pages that may use the server: "https://app.example"
};

struct EndpointLimits {
  size_t connections = 4096;
  size_t connections_per_principal = 2048;
  size_t unknown_connections = 1024;  // over TCP, before a request with good credentials
  HttpLimits connection;
  SessionLimits session;
  AttemptLimits attempts;
};

class HttpEndpoint : private HttpConnection::Host {
 public:
  // All references must outlive the endpoint. `admit` is called for each connection of a Unix socket. Over TCP it
  // is called for each principal that has neither a connection nor a session: clients of HTTP open a connection for
  // each request that they make at one time, so connections do not show the number of clients.
  HttpEndpoint(Loop& loop, mcp::Server& server, mcp::Listener::Admit admit, HttpSettings settings = {},
               EndpointLimits limits = {});
  ~HttpEndpoint() override;
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // Serves a client of a Unix socket. `bytes` were read from it. `client` is as admitted by the socket's listener.
  void serve_peer(Fd socket, std::string_view bytes, mcp::Conversation::Client client);
  // Serves a client of a TCP socket that listens on `own_address`.
  // `client_address`: without its port; attempts with wrong credentials are counted for it.
  void serve_tcp(Fd socket, std::shared_ptr<const Authenticator> authenticator, std::string own_address,
                 std::string client_address = {});

  // Takes no more requests: connections end after the open reply.
  void pause();
  // Ends each connection and each session for which `chosen` returns true; `user` is the data that `admit` returned.
  void close_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen);
  // The credentials of a principal over TCP expire then; nullopt: not at all. Its sessions end, too.
  void set_good_until(const std::string& principal, std::optional<std::chrono::sys_seconds> until);
  // The key that signed the newest credentials of a principal over TCP; empty: no key did, or no credentials.
  std::string key_of(const std::string& principal) const;
  size_t connections() const { return connections_.size(); }
  size_t sessions() const { return sessions_.count(); }
  size_t event_streams() const;
  const FailedAttempts& failed_attempts() const { return failed_; }

 private:
  std::optional<Refusal> check(HttpConnection& connection, const http::IncomingRequest& head) override;
  std::unique_ptr<Responder> respond(HttpConnection& connection, http::IncomingRequest request,
                                     ServerReply& reply) override;
  Refusal refuse_caller(const HttpConnection& connection, const Denial& denial);
  std::optional<Refusal> check_caller(HttpConnection& connection, const http::IncomingRequest& head);
  std::unique_ptr<Responder> respond_with_session(const http::IncomingRequest& request, const mcp::Principal& principal,
                                                  ServerReply& reply);
  mcp::Conversation::Client admitted(mcp::Principal principal);
  void check_clock_after(std::chrono::milliseconds time);
  void note_validity(const HttpConnection& connection, const mcp::Principal& principal);
  void end_expired();
  void start(HttpConnection::Accepted accepted);
  bool make_room(bool for_peer);

  Loop& loop_;
  mcp::Server& server_;
  mcp::Listener::Admit admit_;
  const HttpSettings settings_;
  const EndpointLimits limits_;
  HttpSessions sessions_;
  FailedAttempts failed_;
  struct TcpUser {
    std::weak_ptr<mcp::ConnectionUser> user;
    std::optional<std::chrono::sys_seconds> good_until;  // of its newest credentials; nullopt: they do not expire
    std::string key;                                     // Principal::key() of the same
  };
  std::map<std::string, TcpUser> users_;                    // by the principal's name
  std::optional<std::chrono::sys_seconds> next_expiry_;     // of one principal
  Deadline expiry_;                                         // the next look at the clock
  std::list<std::unique_ptr<HttpConnection>> connections_;  // the oldest first
};

}  // namespace streamable_http
