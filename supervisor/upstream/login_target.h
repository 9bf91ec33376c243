// What a login of one upstream server is for, in the words of oauth/. Used by: upstream_servers.cc, logins.cc.
#pragma once
#include <string>
#include <string_view>

#include "policies/tenant_id.h"
#include "supervisor/upstream/authorization/login_service.h"
#include "supervisor/upstream/server_config.h"

namespace upstream {

// For a server with `oauth`.
inline oauth::TokenTarget target_of(const ServerConfig& config) {
  return {config.name, config.url, config.authorities, {config.headers.begin(), config.headers.end()}, *config.oauth};
}

// The owner of the login that a caller uses: the account of the tenant, without its workspace; empty: all tenants.
inline std::string login_owner(const ServerConfig& config, std::string_view tenant) {
  if (config.sharing == ServerConfig::Sharing::all_users) return {};
  return std::string(tenants::account_of(tenant));
}

}  // namespace upstream
