// UpstreamServers::statuses() and test(): the servers as administrators see and test them.
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/log.h"
#include "supervisor/upstream/upstream_servers.h"

namespace upstream {
namespace {

const char* place_of_server(const ServerConfig& config) {
  if (config.remote()) return "remote";
  return config.place == ServerConfig::Place::jail ? "jail" : "host";
}

}  // namespace

std::vector<ServerStatus> UpstreamServers::statuses() const {
  std::vector<ServerStatus> all;
  for (const auto& [name, server] : servers_) {
    ServerStatus one;
    one.name = name;
    one.kind = server->config.remote() ? "http" : "command";
    one.place = place_of_server(server->config);
    one.problem = server->problem;
    one.imported_from = server->config.imported_from;
    note_login(*server, one);
    if (server->definitions)
      for (const auto& [tool, entry] : server->definitions->tools) one.tools.push_back(tool);
    bool starting = false;
    for (const auto& [tenant, connection] : server->connections) {
      one.connections += connection->is_running();
      starting |= connection->is_starting();
    }
    using State = ServerStatus::State;
    one.state = one.connections > 0    ? State::running
                : starting             ? State::starting
                : !one.problem.empty() ? State::failed
                : server->definitions  ? State::idle
                                       : State::unknown;
    all.push_back(std::move(one));
  }
  return all;
}

Task<Result<>> UpstreamServers::test(std::string name) {
  const ServerPtr server = find(name);
  if (!server)
    co_return fail(Code::not_found, fmt::format("no server is named '{}'", printable(name, 64)),
                   "warder servers list shows the servers");
  const auto& oauth = server->config.oauth;
  const bool is_shared = server->config.sharing == ServerConfig::Sharing::everybody;
  if (oauth && oauth->grant == oauth::OAuthSettings::Grant::authorization_code && !is_shared)
    co_return fail(Code::unavailable,
                   fmt::format("server '{}' cannot be tested: each tenant has its own login there, and a test has none",
                               printable(name, 64)),
                   "let a tenant that has logged in call one of its tools");
  CO_CHECKED(make_room_for(*server, settings_.nobody));
  ServerConnection& connection = connection_of(*server, settings_.nobody);
  connection.forget_failures();
  auto start_it = start_of(*server, settings_.nobody);
  auto ready = co_await connection.ready(std::move(start_it));
  if (!ready) co_return tl::unexpected<Error>(std::move(ready).error());
  if (!is_shared) connection.rest();
  co_return Result<>{};
}

}  // namespace upstream
