// JwtVerifier: decides whether a JSON Web Token (RFC 7519, RFC 9068) of one issuer is good for this server, offline,
// with the keys of a JWKS file. All rules of RFC 8725 that concern a verifier: the key decides the algorithm; issuer,
// audience and expiry must be there and fit; parts with two meanings (keys that occur twice, unknown critical headers,
// keys within the token) are refused, and no URL or path in a token is ever followed.
// Source: hostile text. Used by: supervisor/protocol/streamable_http (TokenAuthenticator). Errors: one sentence for the
// log; the client is not told.
#pragma once
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "supervisor/protocol/credentials/json_web_key.h"
#include "supervisor/protocol/credentials/stored_token.h"

namespace credentials {

// The key "jwt" of the configuration.
struct JwtSettings {
  std::string issuer;        // "https://idp.example": the claim iss
  std::string audience;      // "https://warder.example/mcp", the URL of this server: in the claim aud
  std::string jwks;          // path of the file with the keys
  std::string tenant_claim;  // name of a claim for the mark {claim} in rules; empty: absent
  JsonWebKeys keys;          // of the file; empty: it could not be read, so no token is good
  bool is_set() const { return !issuer.empty(); }
};

struct JwtClaims {
  std::string subject;  // 1 to 128 printable ASCII characters without spaces
  std::string claim;    // of tenant_claim: 1 to 32 of a-z, 0-9, '_' and '-'; empty: absent, or of another form
  WallTime good_until;  // the token is refused from then on
  std::string key;      // the fingerprint of the key that signed it
};

// Whether the text is an https URL (http for a loopback host) of printable characters, without query and fragment.
bool is_resource_url(std::string_view url);
// The URL and the text of the metadata of RFC 9728, by which a client without a token finds the identity provider.
std::string metadata_url(const JwtSettings& settings);
std::string metadata_text(const JwtSettings& settings);

inline constexpr size_t kMaxJwtBytes = 8192;

// Whether the text has the form of a JWT: three parts with dots between them. Tokens "wrd_..." have not.
bool looks_like_jwt(std::string_view text);
tl::expected<JwtClaims, std::string_view> verify_jwt(const JwtSettings& settings, std::string_view text, WallTime now);

// Whether an object of JSON has a key twice, at any depth. Also true of text that is no JSON, or nested deeply.
bool has_key_twice(std::string_view json);

}  // namespace credentials
