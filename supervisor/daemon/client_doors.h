// ClientDoors: how clients reach the daemon: its sockets for lines and for HTTP, the peers and tokens that it admits,
// and the connections that an earlier daemon left to this one.
// Source: sockets, tokens and connections of Prepared. Used by: the reload, the cluster. Errors: those of opening
// sockets.
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
#include "supervisor/parts.h"
#include "supervisor/protocol/mcp/listener.h"
#include "supervisor/protocol/streamable_http/endpoint.h"
#include "supervisor/protocol/streamable_http/listener.h"
#include "supervisor/tenants/tenant.h"

class ClientDoors final : public Part,
                          public Opener,
                          public PolicyFollower,
                          public Drainer,
                          public FindingSource,
                          public MetricSource {
 public:
  // All must outlive this object. `fd_store`: nullptr: connections end with the daemon.
  ClientDoors(Loop& loop, Prepared& prepared, mcp::Server& server, tenants::Registry& registry, bus::Members& members,
              ExpectedJails& expected_jails, FdStore* fd_store);
  static Result<std::unique_ptr<ClientDoors>> open(Loop& loop, Prepared& prepared, mcp::Server& server,
                                                   tenants::Registry& registry, bus::Members& members,
                                                   ExpectedJails& expected_jails, FdStore* fd_store);
  std::tuple<ClientDoors&> services() { return {*this}; }

  // Opens the sockets for clients, and serves the connections that an earlier daemon left.
  Result<> serve() override;
  // Opens the addresses for HTTP that the start did without, if the trial of a reload did not find them missing again.
  // Returns `missing`, the trial's list, with what could not be opened.
  std::vector<configuration::Shortfall> open_missing(std::vector<configuration::Shortfall> missing);
  // The first socket for lines; serve() opened it. Requests of other nodes are served like its clients.
  mcp::Listener& main_listener() { return *listeners_.front(); }

  // The tokens and rules for JWTs of Prepared are in force from now on. Clients with credentials that are not good any
  // more, and peers without a tenant, are disconnected.
  void adopt_policies() override;
  const streamable_http::TokenAuthenticator& tokens_in_force() const { return *tokens_in_force_; }
  using Chosen = std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>;
  // Ends the connections, sessions and calls of the chosen clients.
  void disconnect_if(const Chosen& chosen);
  void disconnect_tenant(const std::string& tenant);

  // No new clients, and no new requests of connected ones.
  void refuse_calls() override;
  // Ends all connections.
  void disconnect() override;

  Task<doctor::Findings> examine() override;
  void write_metrics(metrics::OpenMetricsText& text, Reader reader) const override;

 private:
  Result<std::shared_ptr<mcp::ConnectionUser>> admit(const mcp::Principal& principal);
  Result<> listen_for_http();
  Result<> serve_http_on(Fd socket);
  // Serves the connections that an earlier daemon left, and ends those that cannot be served.
  void adopt_connections();
  void adopt_tokens();
  struct TokenCounts {
    uint64_t good = 0, expire_soon = 0, expired = 0;
  };
  TokenCounts token_counts() const;
  uint64_t refused(streamable_http::DenialReason reason) const;

  Loop& loop_;
  Prepared& prepared_;
  mcp::Server& server_;
  tenants::Registry& registry_;
  bus::Members& members_;
  ExpectedJails& expected_jails_;
  FdStore* const fd_store_;
  const std::shared_ptr<streamable_http::TokenAuthenticator> tokens_in_force_ =
      std::make_shared<streamable_http::TokenAuthenticator>();
  // Made by serve(). The listeners refer to the endpoint, so that they are destroyed first.
  std::optional<streamable_http::HttpEndpoint> http_;
  std::vector<std::unique_ptr<streamable_http::HttpListener>> http_listeners_;
  std::vector<std::unique_ptr<mcp::Listener>> listeners_;
};
