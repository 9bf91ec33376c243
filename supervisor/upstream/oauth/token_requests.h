// Requests to an authorization server: tokens by each grant, their revocation, and registration of the daemon as a
// client.
// Source: token_source.cc, logins.cc. Each request names the resource (RFC 8707); redirects are not followed; bytes and
// time are bounded (discovery.h). Secrets go into the body or the header Authorization, never into a URL.
// Errors: those of tokens.h, within "the authorization server ISSUER"; unavailable.
// Facts: RFC 6749 sections 2.3.1, 4.1.3, 4.4.2 and 6, RFC 7636 section 4.5, RFC 7591 section 3.1, RFC 8252.
#pragma once
#include <string>
#include <vector>

#include "supervisor/upstream/oauth/discovery.h"
#include "supervisor/upstream/oauth/tokens.h"

namespace oauth {

// The configured client. `secret`: the text of its file; empty: a public client. Errors: denied: the server takes no
// way of authentication that the daemon has, or reads no metadata of clients.
Result<ClientIdentity> configured_client(const OAuthSettings& settings, const AuthorizationServer& server,
                                         std::string secret);
Task<Result<ClientIdentity>> register_client(http::HttpClient& client, const TokenTarget& target,
                                             const Discovered& discovered, std::string redirect);

// The authorization code of one login, and what proves that the login began here.
struct CodeGrant {
  std::string code, verifier, redirect;
};
// `discovered.scopes`: those that were asked for.
Task<Result<Tokens>> tokens_by_code(http::HttpClient& client, const TokenTarget& target, const Discovered& discovered,
                                    ClientIdentity identity, CodeGrant grant);
Task<Result<Tokens>> tokens_by_credentials(http::HttpClient& client, const TokenTarget& target,
                                           const Discovered& discovered, ClientIdentity identity);
// Ends a login at the authorization server (RFC 7009): its refresh token and what was made with it; without one, its
// access token. Within 5 s. Errors also: unavailable: the server has no revocation_endpoint.
Task<Result<>> revoke_tokens(http::HttpClient& client, const TokenTarget& target, Tokens tokens);
// The same login with new tokens. The server may replace the refresh token, too.
Task<Result<Tokens>> tokens_by_refresh(http::HttpClient& client, const TokenTarget& target, Tokens former);

}  // namespace oauth
