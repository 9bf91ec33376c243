// ClientDoors: how clients reach the daemon: its sockets for lines and for HTTP, the peers and tokens that it admits,
// and the connections that an earlier daemon left to this one.
// Source: sockets, tokens and connections of Prepared. Made by: DaemonParts. Errors: those of opening sockets.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/daemon/expected_jails.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/systemd/fd_store.h"
#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/doctor/doctor.h"
#include "supervisor/operations/metrics/fleet.h"
#include "supervisor/protocol/mcp/listener.h"
#include "supervisor/protocol/streamable_http/endpoint.h"
#include "supervisor/protocol/streamable_http/listener.h"
#include "supervisor/tenants/tenant.h"

class ClientDoors {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    Prepared& prepared;
    mcp::Server& server;
    tenants::Registry& registry;
    bus::Members& members;
    ExpectedJails& expected_jails;
    FdStore* fd_store;  // nullptr: connections end with the daemon
  };
  explicit ClientDoors(const Parts& parts) : parts_(parts) {}
  ClientDoors(const ClientDoors&) = delete;

  // Opens the sockets for clients.
  Result<> listen();
  // Opens the addresses for HTTP that the start did without, if the trial of a reload did not find them missing again.
  // Returns `missing`, the trial's list, with what could not be opened.
  std::vector<configuration::Shortfall> open_missing(std::vector<configuration::Shortfall> missing);
  // After listen(): serves the connections that an earlier daemon left, and ends those that cannot be served.
  void adopt_connections();
  // The first socket for lines; listen() opened it. Requests of other nodes are served like its clients.
  mcp::Listener& main_listener() { return *listeners_.front(); }

  // The tokens and rules for JWTs in `prepared` are in force from now on; clients with credentials that are not
  // good any more are disconnected.
  void adopt_tokens();
  const streamable_http::TokenAuthenticator& tokens_in_force() const { return *tokens_in_force_; }
  using Chosen = std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>;
  // Ends the connections, sessions and calls of the chosen clients.
  void disconnect_if(const Chosen& chosen);
  void disconnect_tenant(const std::string& tenant);

  // No new clients, and no new requests of connected ones.
  void refuse_calls();
  // Ends all connections.
  void close();

  metrics::HttpNumbers http_numbers() const;
  doctor::HttpUse http_use() const;

 private:
  Result<std::shared_ptr<mcp::ConnectionUser>> admit(const mcp::Principal& principal);
  Result<> listen_for_http();
  Result<> serve_http_on(Fd socket);

  const Parts parts_;
  const std::shared_ptr<streamable_http::TokenAuthenticator> tokens_in_force_ =
      std::make_shared<streamable_http::TokenAuthenticator>();
  // Made by listen(). The listeners refer to the endpoint, so that they are destroyed first.
  std::optional<streamable_http::HttpEndpoint> http_;
  std::vector<std::unique_ptr<streamable_http::HttpListener>> http_listeners_;
  std::vector<std::unique_ptr<mcp::Listener>> listeners_;
};
