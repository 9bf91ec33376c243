// JsonWebKey: one public key of an identity provider, and the one algorithm that it is for (RFC 7517, RFC 7518, RFC
// 8037). The key decides the algorithm, not the token: so no token can name a weaker one, or use a public key as the
// secret of an HMAC.
// Source: a JWKS file, which a timer of the administrator fetches: the daemon has no network. Used by:
// json_web_token.h. Errors of read_jwks(): invalid, naming the key: "keys[1].n: not base64url"; unavailable, of
// libcrypto.h.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace credentials {

class JsonWebKey {
 public:
  enum class Algorithm { eddsa, es256, rs256 };
  virtual ~JsonWebKey() = default;
  JsonWebKey(const JsonWebKey&) = delete;
  JsonWebKey& operator=(const JsonWebKey&) = delete;

  const std::string& id() const { return id_; }  // "kid"; empty: absent
  Algorithm algorithm() const { return algorithm_; }
  // A digest of the key, its id and its algorithm: equal for the same key in another document.
  const std::string& fingerprint() const { return fingerprint_; }
  // `signature`: the bytes of the third part of a JWT.
  virtual bool verifies(std::string_view signed_text, std::string_view signature) const = 0;

 protected:
  // `material`: the bytes of the key.
  JsonWebKey(std::string id, Algorithm algorithm, std::string_view material);

 private:
  std::string id_;
  Algorithm algorithm_;
  std::string fingerprint_;
};
using JsonWebKeys = std::vector<std::shared_ptr<const JsonWebKey>>;

// "EdDSA", "ES256", "RS256".
std::string_view algorithm_name(JsonWebKey::Algorithm algorithm);

// The keys of a JWKS document that can check signatures of these three algorithms. Keys of other types, curves and uses
// are skipped, because a document may have them for other programs; a key that is damaged, or two keys with one id, are
// errors. No usable key at all is an error.
Result<JsonWebKeys> read_jwks(std::string_view text);
// The same of a file, of at most 256 KiB.
Result<JsonWebKeys> read_jwks_file(const std::string& path);
// Whether one of the keys has this fingerprint. Tokens that were signed with another key are not good.
bool has_key(const JsonWebKeys& keys, std::string_view fingerprint);

// Bytes of base64url without padding (RFC 7515, appendix C). Errors: invalid; also a text that is not the one text of
// its bytes.
Result<std::string> from_base64url(std::string_view text);

}  // namespace credentials
