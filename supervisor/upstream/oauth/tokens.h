// Tokens: the tokens of one login, with the data to renew or revoke them. Read from the replies of token endpoints,
// stored as sealed JSON (login_files.h). Secrets: neither logged, nor shown, nor sent to any place but the one that
// each is for.
// Source: authorization servers, which are not trusted. Used by: this folder. Errors: denied, unavailable, without any
// part of a token.
// Facts: RFC 6749 sections 5.1 and 5.2, RFC 6750 section 2.1, RFC 7591 section 3.2.1.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/http/client.h"

namespace oauth {

// The daemon as the authorization server knows it.
struct ClientIdentity {
  std::string id, secret;       // secret empty: a public client
  std::string method = "none";  // client_secret_basic, client_secret_post, none
  bool operator==(const ClientIdentity&) const = default;
};

struct Tokens {
  std::string access, refresh;      // refresh empty: absent
  std::string token_endpoint;       // to renew at
  std::string revocation_endpoint;  // to end the login at; empty: absent. The refresh token is sent to these two alone
  std::string issuer, resource;     // that they are for
  ClientIdentity client;
  std::vector<std::string> scopes;
  int64_t expires_at = 0;  // seconds since 1970; 0: not known
};

using Clock = std::chrono::system_clock;
int64_t seconds_now();

// A reply of the token endpoint. `request`: the scopes of the request; if there are any, the reply may not have others.
// Sets access, refresh, scopes, expires_at of `into`; a reply without a refresh token leaves the older one.
// Errors also: denied, with the server's error code in `rule`: "invalid_grant".
Result<> read_token_reply(const http::HttpReply& reply, const std::vector<std::string>& request, Tokens& into);
// A reply of the revocation endpoint (RFC 7009, section 2.2).
Result<> read_revocation_reply(const http::HttpReply& reply);
// A reply of the registration endpoint.
Result<ClientIdentity> read_registration(const http::HttpReply& reply);

// The stored form.
std::string write_tokens(const Tokens& tokens);
Result<Tokens> parse_tokens(std::string_view text);

}  // namespace oauth
