// Authenticator: decides which principal makes a request. Every request over HTTP passes it, before its body is read.
// Implementations: PeerAuthenticator on a Unix socket, TokenAuthenticator on TCP.
// Used by: HttpEndpoint. Errors: Denial: the answer is 401, the same for every token, and the connection ends.
#pragma once
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "supervisor/protocol/credentials/json_web_token.h"
#include "supervisor/protocol/credentials/token_table.h"
#include "supervisor/protocol/http/request_parser.h"
#include "supervisor/protocol/mcp/principal.h"

namespace streamable_http {

// Why a request is refused: for the log and the metrics. The client does not get it, because it would learn which
// tokens existed once.
enum class DenialReason { no_token, malformed, unknown, expired, bad_jwt };
inline constexpr size_t kDenialReasons = 5;
// "no_token", a label of metrics; "it has no token", for sentences.
std::string_view denial_name(DenialReason reason);
std::string_view denial_text(DenialReason reason);

struct Denial {
  DenialReason reason = DenialReason::no_token;
  std::string name;  // of the token, if it is known; of a JWT: the rule that it breaks
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // The value of the field WWW-Authenticate of a refusal. A token that is not good, whether unknown, removed or
  // expired, is invalid_token (RFC 6750, section 3.1): a client then gets another one.
  virtual std::string challenge(DenialReason) const { return "Bearer"; }
  // The metadata of this server (RFC 9728); empty: absent.
  virtual std::string metadata() const { return {}; }
  // `request`: its head; the body is still to come.
  virtual tl::expected<mcp::Principal, Denial> authenticate(const http::IncomingRequest& request) const = 0;
};

// The kernel named the process at the other end of the socket. No header changes that identity.
class PeerAuthenticator : public Authenticator {
 public:
  explicit PeerAuthenticator(mcp::Principal peer) : peer_(std::move(peer)) {}
  tl::expected<mcp::Principal, Denial> authenticate(const http::IncomingRequest&) const override { return peer_; }

 private:
  mcp::Principal peer_;
};

// Any user of the machine, and any web page in a browser, can reach a TCP port, so each request needs a token:
// "Authorization: Bearer wrd_..." (RFC 6750, section 2.1), once; or a JWT in its place. A token in the query or in the
// body is not looked at. The time of each request decides whether the token has expired.
class TokenAuthenticator : public Authenticator {
 public:
  TokenAuthenticator() = default;  // no token is good
  // From now on these tokens are good.
  void set_tokens(credentials::TokenTable tokens) { tokens_ = std::move(tokens); }
  const credentials::TokenTable& tokens() const { return tokens_; }
  // From now on JWTs of this issuer are good; not set: no JWT is.
  void set_jwt(credentials::JwtSettings jwt) { jwt_ = std::move(jwt); }
  const credentials::JwtSettings& jwt() const { return jwt_; }
  std::string challenge(DenialReason reason) const override;
  std::string metadata() const override;
  tl::expected<mcp::Principal, Denial> authenticate(const http::IncomingRequest& request) const override;

 private:
  tl::expected<mcp::Principal, Denial> authenticate_jwt(std::string_view text) const;

  credentials::TokenTable tokens_;
  credentials::JwtSettings jwt_;
};

}  // namespace streamable_http
