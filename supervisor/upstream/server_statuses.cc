// UpstreamServers::statuses() and test(): the servers as administrators see and test them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "supervisor/base/log.h"
#include "supervisor/upstream/upstream_servers.h"

namespace upstream {
namespace {

const char* place_of_server(const ServerConfig& config) {
  if (config.remote()) return "remote";
  return config.location == ServerConfig::ServerHost::jail ? "jail" : "host";
}

}  // namespace

std::vector<ServerStatus> UpstreamServers::statuses() const {
  std::vector<ServerStatus> all;
  for (const auto& [name, server] : servers_) {
    ServerStatus status;
    status.name = name;
    status.kind = server->config.remote() ? "http" : "command";
    status.location = place_of_server(server->config);
    status.problem = server->problem;
    status.imported_from = server->config.imported_from;
    note_login(*server, status);
    if (server->known)
      for (const auto& [tool, known] : server->known->definitions.tools) status.tools.push_back(tool);
    bool starting = false;
    for (const auto& [tenant, connection] : server->connections) {
      status.connections += connection->is_running();
      starting |= connection->is_starting();
    }
    using State = ServerStatus::State;
    status.state = status.connections > 0    ? State::running
                   : starting                ? State::starting
                   : !status.problem.empty() ? State::failed
                   : server->known           ? State::idle
                                             : State::unknown;
    all.push_back(std::move(status));
  }
  return all;
}

// "of 2 tenants: acme, uid-1000"; at most 20 names.
std::string UpstreamServers::logins_text(const Server& server) const {
  constexpr size_t kMaxNames = 20;
  std::vector<std::string> names;
  if (settings_.logins) names = settings_.logins->owners_of(server.config.name);
  if (names.empty()) return "of no tenant yet";
  const size_t count = names.size();
  if (count > kMaxNames) names.resize(kMaxNames);
  return fmt::format("of {} {}: {}{}", count, count == 1 ? "tenant" : "tenants", fmt::join(names, ", "),
                     count > kMaxNames ? ", ..." : "");
}

Task<Result<>> UpstreamServers::test(std::string name, std::string account) {
  const ServerPtr server = find(name);
  if (!server)
    co_return fail(Code::not_found, fmt::format("no server is named '{}'", printable(name, 64)),
                   "warder servers list shows the servers");
  const auto& oauth = server->config.oauth;
  const bool is_shared = server->config.sharing == ServerConfig::Sharing::all_users;
  const bool is_by_tenant = oauth && oauth->grant == oauth::OAuthSettings::Grant::authorization_code && !is_shared;
  if (is_by_tenant && account.empty())
    co_return fail(Code::invalid,
                   fmt::format("each tenant has its own login at server '{}': there are logins {}", printable(name, 64),
                               logins_text(*server)),
                   fmt::format("warder servers test {} --tenant TENANT tests with the login of one", name));
  if (!is_by_tenant && !account.empty())
    co_return fail(Code::invalid, fmt::format("server '{}' has no logins of tenants", printable(name, 64)),
                   fmt::format("warder servers test {}, without --tenant", name));
  const Caller caller = is_by_tenant ? tester(account) : settings_.no_user;
  CO_CHECKED(make_room_for(*server, caller));
  ServerConnection& connection = connection_of(*server, caller);
  connection.forget_failures();
  auto start_it = start_of(*server, caller);
  auto ready = co_await connection.ready(std::move(start_it));
  if (!ready) co_return tl::unexpected<Error>(std::move(ready).error());
  if (!is_shared) connection.rest();
  co_return Result<>{};
}

}  // namespace upstream
