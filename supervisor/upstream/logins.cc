// UpstreamServers: logins of persons, and what administrators see of them.
#include <fmt/format.h>

#include "supervisor/base/log.h"
#include "supervisor/upstream/login_target.h"
#include "supervisor/upstream/upstream_servers.h"

namespace upstream {

Result<UpstreamServers::ServerPtr> UpstreamServers::server_with_login(std::string_view name) const {
  const ServerPtr server = find(name);
  if (!server)
    return fail(Code::not_found, fmt::format("no server is named '{}'", printable(name, 64)),
                "warder servers list shows the servers");
  if (!server->config.oauth)
    return fail(Code::invalid, fmt::format("nobody logs in to server '{}': its configuration has no `oauth`", name));
  if (!settings_.logins) return fail(Code::unavailable, kNoLogins);
  return server;
}

Result<bool> UpstreamServers::is_login_shared(std::string_view server) const {
  TRY(const ServerPtr server_ptr, server_with_login(server));
  return server_ptr->config.sharing == ServerConfig::Sharing::all_users;
}

Task<Result<std::pair<std::string, std::string>>> UpstreamServers::begin_login(std::string server, std::string owner,
                                                                               std::string redirect,
                                                                               std::vector<std::string> scopes) {
  CO_TRY(const ServerPtr server_ptr, server_with_login(server));
  auto target = target_of(server_ptr->config);
  auto it =
      co_await settings_.logins->begin(std::move(target), std::move(owner), std::move(redirect), std::move(scopes));
  if (!it) co_return tl::unexpected<Error>(std::move(it).error().within(fmt::format("server '{}'", server)));
  co_return std::pair(it->id, it->url);
}

Task<Result<>> UpstreamServers::finish_login(std::string server, std::string owner, std::string id,
                                             std::string redirected) {
  CO_TRY(const ServerPtr server_ptr, server_with_login(server));
  auto finished = co_await settings_.logins->finish(std::move(id), {server, owner}, std::move(redirected));
  if (!finished)
    co_return tl::unexpected<Error>(std::move(finished).error().within(fmt::format("server '{}'", server)));
  // Connections that failed without the login need no pause any more.
  for (auto& [tenant, waiting] : server_ptr->connections)
    if (login_owner(server_ptr->config, tenant) == owner) waiting->forget_failures();
  const bool is_shared = server_ptr->config.sharing == ServerConfig::Sharing::all_users;
  const Caller caller = is_shared ? settings_.no_user : tester(owner);
  if (!make_room_for(*server_ptr, caller)) co_return Result<>{};
  ServerConnection& connection = connection_of(*server_ptr, caller);
  connection.forget_failures();
  auto how = start_of(*server_ptr, caller);
  auto started = co_await connection.ready(std::move(how));
  if (!started) log_warning("upstream server {}: logged in, but: {}", server, started.error().what);
  if (!is_shared) connection.rest();
  co_return Result<>{};
}

Task<Result<std::pair<bool, std::string>>> UpstreamServers::log_out(std::string server, std::string owner) {
  CO_TRY(const ServerPtr server_ptr, server_with_login(server));
  auto target = target_of(server_ptr->config);
  CO_TRY(oauth::Logout done, co_await settings_.logins->log_out(std::move(target), owner));
  for (auto& [tenant, connection] : server_ptr->connections)
    if (login_owner(server_ptr->config, tenant) == owner) connection->rest();
  co_return std::pair(done.was_there, std::move(done.not_revoked));
}

// The connection of a test has the login of the account, and a name that no tenant's call has: a call has its own
// connection, under the policy of its tenant.
Caller UpstreamServers::tester(const std::string& account) const {
  Caller caller = settings_.no_user;
  caller.tenant = account + "//test";
  return caller;
}

void UpstreamServers::forget_logins_of(const std::string& account) {
  if (!settings_.logins || account.empty()) return;
  std::vector<oauth::TokenTarget> targets;
  for (const auto& [name, server] : servers_)
    if (server->config.oauth) targets.push_back(target_of(server->config));
  settings_.logins->forget_owner(account, targets);
}

void UpstreamServers::note_login(const Server& server, ServerStatus& status) const {
  if (!server.config.oauth || !settings_.logins) return;
  using Login = ServerStatus::Login;
  if (server.config.oauth->grant == oauth::OAuthSettings::Grant::client_credentials) {
    status.login = Login::own_account;
    return;
  }
  status.logins = static_cast<uint32_t>(settings_.logins->count_of(server.config.name));
  status.login = status.logins > 0 ? Login::present : Login::needed;
  if (server.config.sharing != ServerConfig::Sharing::all_users) return;
  const auto login = settings_.logins->login_of(target_of(server.config), "");
  if (!login) status.login = Login::needed;
  if (login) status.login_until_s = login->at_s;
}

}  // namespace upstream
