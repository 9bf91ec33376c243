// LoginService: tokens for requests to upstream servers, and the logins of persons there. Offered by the part of
// oauth/, an annex; this header is what the upstream servers know of it. Used by: upstream_servers.h, http_transport.h.
// Errors: see the functions; no error has a part of a token.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/authorization/settings.h"

namespace oauth {

// TokenTarget: the upstream server that a token is for.
struct TokenTarget {
  std::string server;  // its name in the configuration
  std::string url;     // where it speaks MCP
  std::string
      authorities;        // PEM file of certificate authorities, also for the authorization server; empty: the system's
  http::Headers headers;  // of each request to the server; never sent to the authorization server
  OAuthSettings settings;
};

// BearerTokens: the tokens of the connections with one server, for one owner. Errors: unavailable: no login, or no
// token can be had; the hint is the command that helps.
class BearerTokens {
 public:
  virtual ~BearerTokens() = default;
  // The token of the next request.
  virtual Task<Result<std::string>> token() = 0;
  // The server answered a request with this token by 401.
  virtual Task<Result<std::string>> renewed(std::string refused) = 0;
  // The texts that no message of the server may show: tokens that were sent to it.
  virtual const std::vector<std::string>& sent() const = 0;
  virtual Error needs_login(std::string why) const = 0;
  // What to do if the server wants these scopes, too; empty: it does not name them. The command also names the scopes
  // that the login has, because a new login replaces it.
  virtual std::string more_scopes_hint(const std::vector<std::string>& scopes) const = 0;
};

// What a command line needs to show.
struct PendingLogin {
  std::string id;   // for finish()
  std::string url;  // for the browser
};

struct Logout {
  bool was_there = false;   // there was a login
  std::string not_revoked;  // why its tokens may still be good at the authorization server; empty: they are revoked
};

// When a login ends, in seconds since 1970; 0: it is not known, or the login is renewed before.
struct LoginEnd {
  uint64_t at_s = 0;
};

// `owner`: the account of a tenant; empty: all tenants.
class LoginService {
 public:
  // The same source for all connections with these names and settings.
  virtual std::shared_ptr<BearerTokens> source(const TokenTarget& target, const std::string& owner) = 0;
  // The login of that owner that fits the settings; nullopt: absent. For client_credentials always nullopt.
  virtual std::optional<LoginEnd> login_of(const TokenTarget& target, const std::string& owner) = 0;
  virtual size_t count_of(std::string_view server) const = 0;
  // The owners of logins at a server, by name.
  virtual std::vector<std::string> owners_of(std::string_view server) const = 0;

  // `redirect`: http://127.0.0.1:PORT/PATH. `scopes`: those of the settings if empty. Errors of the next three: invalid
  // (the redirect), denied (the authorization server, or a redirect that does not belong to the login), not_found,
  // exhausted, unavailable.
  virtual Task<Result<PendingLogin>> begin(TokenTarget target, std::string owner, std::string redirect,
                                           std::vector<std::string> scopes) = 0;
  // `name`: the server and the owner. `redirected`: the whole URL that the browser was sent to. A login can be finished
  // once.
  virtual Task<Result<>> finish(std::string id, std::pair<std::string, std::string> name, std::string redirected) = 0;
  // Deletes the tokens here, and then revokes them at the authorization server, if that can be done within 5 s.
  virtual Task<Result<Logout>> log_out(TokenTarget target, std::string owner) = 0;
  // The tenant is removed: its logins, too, also those at `targets` whose files cannot be read. The tokens for one of
  // `targets`, the servers that are configured, are also revoked at the authorization server, if that can be done
  // within 5 s.
  virtual void forget_owner(const std::string& owner, const std::vector<TokenTarget>& targets) = 0;

 protected:
  ~LoginService() = default;
};

}  // namespace oauth
