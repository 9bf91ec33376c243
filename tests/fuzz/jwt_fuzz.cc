// JSON Web Tokens and the keys that check them. A key of this file takes every signature, so that hostile claims are
// read, too. The first byte chooses the input: t a token, h the JSON of a header, c the JSON of claims, k a JWKS
// document, b base64url.
#include <sodium.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/protocol/credentials/json_web_token.h"

namespace {

using credentials::JsonWebKey;
using credentials::WallTime;

constexpr std::string_view kHeader = R"({"alg":"EdDSA","kid":"one"})";
constexpr std::string_view kClaims =
    R"({"iss":"https://idp.example","aud":"https://warder.example/mcp","sub":"ada","exp":2000000000})";
constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};

void require(bool holds) {
  if (!holds) std::abort();
}

class TakesAll : public JsonWebKey {
 public:
  TakesAll() : JsonWebKey("one", Algorithm::eddsa, "fingerprint") {}
  bool verifies(std::string_view, std::string_view) const override { return true; }
};

credentials::JwtSettings settings() {
  credentials::JwtSettings all;
  all.issuer = "https://idp.example";
  all.audience = "https://warder.example/mcp";
  all.tenant_claim = "tenant";
  all.keys.push_back(std::make_shared<TakesAll>());
  return all;
}

std::string base64url(std::string_view bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    kVariant);
  text.pop_back();  // the NUL
  return text;
}

bool verify(std::string_view token) {
  static const credentials::JwtSettings kSettings = settings();
  const auto claims = verify_jwt(kSettings, token, kNow);
  if (!claims) {
    require(!claims.error().empty());
    return false;
  }
  require(token.size() <= credentials::kMaxJwtBytes);
  require(credentials::looks_like_jwt(token));
  require(!claims->subject.empty() && claims->subject.size() <= 128);
  require(std::all_of(claims->subject.begin(), claims->subject.end(), [](char c) { return c > 32 && c < 127; }));
  require(claims->claim.size() <= 32);
  require(claims->claim.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos);
  require(claims->good_until >= kNow);
  return true;
}

std::string token_of(std::string_view header, std::string_view claims) {
  return base64url(header) + "." + base64url(claims) + ".AA";
}

void keys(std::string_view text) {
  const auto read = credentials::read_jwks(text);
  if (!read) return require(!read.error().what.empty());
  require(!read->empty());
  for (const auto& key : *read) {
    require(!key->verifies("text", ""));
    require(!key->verifies("text", std::string(64, '\0')));
    require(credentials::has_key(*read, key->fingerprint()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool kIsWhole = verify(token_of(kHeader, kClaims));
  require(kIsWhole);  // else nothing behind the signature would be tested
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 't':
      verify(rest);
      break;
    case 'h':
      verify(token_of(rest, kClaims));
      break;
    case 'c':
      verify(token_of(kHeader, rest));
      break;
    case 'k':
      keys(rest);
      break;
    case 'b':
      if (const auto bytes = credentials::from_base64url(rest)) require(base64url(*bytes) == rest);
      break;
    default:
      break;
  }
  return 0;
}
