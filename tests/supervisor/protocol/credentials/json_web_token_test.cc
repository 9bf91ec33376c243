// JWTs: which are taken, and each trick that is not.
#include "supervisor/protocol/credentials/json_web_token.h"

#include <sodium.h>

#include <fstream>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/credentials/access_token.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace credentials;

namespace {

// Made with OpenSSL 3.0 for this test: two public keys, and a token of each, which expires in 2100.
constexpr char kOpensslKeys[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"rsa\",\"alg\":\"RS256\",\"use\":\"sig\",\"n\":\"yDg0Va5J647XU2ZmblCtPlL4-"
    "IdAsJ8B1nu"
    "suIidb7zdeaXQmQiH5nQAUsTnae6HJVyPCiXI7D_fgmo35qtKkamBM5E7JR_EaGAYnKDUraVXi6ldw5VyYEEGZXtOgjcCDP6iyc3"
    "bxnuk8eGGZVJj-BVmxCPRfB_PwDmDdXvB33MEMpopvuj30G-8IwYxwagta3bcyCoEohPfZD3-MxIdYPJCTwKovnheSSyJTxnsg0D"
    "Zfd0wGAcCT6sQ_rmTCni9OCgOkVWdEZZhRKS0iJcyY6uTc_A6Gqrl_tqvLlP_PApOmJp5r-G2oBzPEkhmWfe24oeYIGWk_sAeZSI"
    "VsnW4mQ\",\"e\":\"AQAB\"},{\"kty\":\"EC\",\"kid\":\"ec\",\"crv\":\"P-256\",\"x\":\"1_"
    "SSUEd8HW72Q0V3XPqHfeyhpFW2hxZlB_qx2"
    "wA62M0\",\"y\":\"XXGXrT7aRgVqR-qxIF7OtZ93OeK56z4LJP-hr991NTs\"}]}";
constexpr char kRs256[] =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwiYXVkIjo"
    "iaHR0cHM6Ly93YXJkZXIuZXhhbXBsZS9tY3AiLCJzdWIiOiJhZGEiLCJleHAiOjQxMDI0NDQ4MDB9.T2rFkVPs0_eSGWaUrjtEU8"
    "JHhBMYmkEcCYRir2_7CfzRQhpDF6Qb21UcquMpa6U4mfaGKx0IKSQD_t3glIz4KbAWr9SHITODJiy9lhruhhWMm5kMPQB-trObts"
    "bItHByoObyBnu0OUrEbuWNKd-qrCZSRath0kkomtwMhFEoYyS2zmWmoyOQrbVeGHB_-KAfnO93_ZOAnQ4ttfA3fAyIpB5N-i5r2i"
    "miqnOyQ_z2BnmlTt5yI21w1BBG4SfV-JdJSZ8yzl9KZhVefMx-D0uVr168xjQClryd_sJChwkrVXHY42ocm_dA9wTgw4kXOOJQIO"
    "YayN7PGge1XLNWUCIZTw";
constexpr char kEs256[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwiYXVkIjoi"
    "aHR0cHM6Ly93YXJkZXIuZXhhbXBsZS9tY3AiLCJzdWIiOiJhZGEiLCJleHAiOjQxMDI0NDQ4MDB9.TEx4qItj6N4WrvoKU-hdz6P"
    "f95JYWiqwSAu0G21ZuFjQhIFwvuVpxEkghaoMcyVH1uZiD45xgtAlyWhAHLkdeA";

std::string base64url(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_URLSAFE_NO_PADDING), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  text.pop_back();
  return text;
}

// An identity provider with an Ed25519 key.
struct Provider {
  std::string secret = std::string(crypto_sign_SECRETKEYBYTES, '\0'), key = std::string(32, '\0');
  JwtSettings settings;
  const WallTime now = *parse_wall_time("2026-11-26T18:00:00Z");
  Json claims = {{"iss", "https://idp.example"}, {"aud", "https://warder.example/mcp"}, {"sub", "ada"}};
  Json header = {{"alg", "EdDSA"}, {"kid", "one"}};

  Provider() {
    REQUIRE(sodium_init() >= 0);
    crypto_sign_keypair(reinterpret_cast<unsigned char*>(key.data()), reinterpret_cast<unsigned char*>(secret.data()));
    claims["exp"] = now.time_since_epoch().count() + 300;
    settings.issuer = "https://idp.example";
    settings.audience = "https://warder.example/mcp";
    settings.tenant_claim = "org";
    auto keys = read_jwks(jwks());
    REQUIRE(keys);
    settings.keys = *keys;
  }
  std::string jwks() const {
    return Json{{"keys", {{{"kty", "OKP"}, {"crv", "Ed25519"}, {"kid", "one"}, {"x", base64url(key)}}}}}.dump();
  }
  std::string signed_text(const std::string& head, const std::string& body) const {
    const std::string text = base64url(head) + "." + base64url(body);
    std::string signature(crypto_sign_BYTES, '\0');
    crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                         reinterpret_cast<const unsigned char*>(secret.data()));
    return text + "." + base64url(signature);
  }
  std::string token() const { return signed_text(header.dump(), claims.dump()); }
  // The reason of the refusal; "good".
  std::string verdict(const std::string& text) const {
    const auto verified = verify_jwt(settings, text, now);
    return verified ? "good" : std::string(verified.error());
  }
  std::string with_claim(const char* name, Json value) const {
    Json other = claims;
    other[name] = std::move(value);
    return verdict(signed_text(header.dump(), other.dump()));
  }
  std::string without_claim(const char* name) const {
    Json other = claims;
    other.erase(name);
    return verdict(signed_text(header.dump(), other.dump()));
  }
  std::string with_header(const char* name, Json value) const {
    Json other = header;
    other[name] = std::move(value);
    return verdict(signed_text(other.dump(), claims.dump()));
  }
};

}  // namespace

TEST_CASE("a token of the issuer for this server is taken", "[credentials]") {
  Provider provider;
  CHECK(looks_like_jwt(provider.token()));
  CHECK_FALSE(looks_like_jwt(new_access_token()));
  provider.claims["org"] = "acme";
  const auto verified = verify_jwt(provider.settings, provider.token(), provider.now);
  REQUIRE(verified);
  CHECK(verified->subject == "ada");
  CHECK(verified->claim == "acme");
  CHECK(provider.with_claim("aud", {"https://other.example", "https://warder.example/mcp"}) == "good");
  provider.header.erase("kid");  // there is one key only
  CHECK(provider.verdict(provider.token()) == "good");
  for (const Json& odd :
       {Json("Acme"), Json("a/b"), Json(""), Json(7), Json::array({"acme"}), Json(std::string(33, 'a'))}) {
    provider.claims["org"] = odd;
    CHECK(verify_jwt(provider.settings, provider.token(), provider.now)->claim.empty());
  }
}

TEST_CASE("tokens of RSA and P-256 keys are taken, and each changed bit is seen", "[credentials]") {
  JwtSettings settings;
  settings.issuer = "https://idp.example";
  settings.audience = "https://warder.example/mcp";
  settings.keys = read_jwks(kOpensslKeys).value();
  REQUIRE(settings.keys.size() == 2);
  const WallTime now = *parse_wall_time("2026-11-26T18:00:00Z");
  for (const std::string text : {kRs256, kEs256}) {
    const auto verified = verify_jwt(settings, text, now);
    REQUIRE(verified);
    CHECK(verified->subject == "ada");
    for (size_t at = 0; at < text.size(); at += 7) {
      std::string changed = text;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      CHECK_FALSE(verify_jwt(settings, changed, now));
    }
    CHECK_FALSE(verify_jwt(settings, text.substr(0, text.size() - 4), now));
    CHECK_FALSE(verify_jwt(settings, text.substr(0, text.rfind('.') + 1), now));
  }
  // The signature of P-256 in the form of DER is another text for the same numbers, and is not taken.
  const std::string es256 = kEs256;
  const std::string zeros = es256.substr(0, es256.rfind('.') + 1) + base64url(std::string(64, '\0'));
  CHECK_FALSE(verify_jwt(settings, zeros, now));
  const std::string mixed =
      std::string(kRs256).substr(0, std::string(kRs256).rfind('.')) + es256.substr(es256.rfind('.'));
  CHECK_FALSE(verify_jwt(settings, mixed, now));
}

TEST_CASE("the token does not choose its algorithm", "[credentials]") {
  const Provider provider;
  const std::string body = base64url(provider.claims.dump());
  for (const char* none : {"none", "None", "NONE", "nOnE", ""}) {
    const std::string head = base64url(Json{{"alg", none}, {"kid", "one"}}.dump());
    CHECK(provider.verdict(head + "." + body + ".") == "no key has its algorithm and its key id");
    CHECK(provider.verdict(head + "." + body + "." + base64url("x")) == "no key has its algorithm and its key id");
  }
  // The public key as the secret of an HMAC.
  for (const std::string& secret : {provider.key, provider.jwks(), base64url(provider.key)}) {
    const std::string text = base64url(R"({"alg":"HS256","kid":"one"})") + "." + body;
    std::string mac(crypto_auth_hmacsha256_BYTES, '\0');
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(mac.data()));
    CHECK(provider.verdict(text + "." + base64url(mac)) == "no key has its algorithm and its key id");
  }
  for (const Json& alg :
       {Json("RS256"), Json("ES256"), Json("eddsa"), Json("EdDSA "), Json(nullptr), Json(0), Json::array({"EdDSA"})})
    CHECK(provider.with_header("alg", alg) == "no key has its algorithm and its key id");
}

TEST_CASE("key ids and keys within the token lead nowhere", "[credentials]") {
  const Provider provider;
  for (const Json& kid :
       {Json("../../etc/passwd"), Json("/dev/null"), Json("https://evil.example/jwks"), Json("one'--"),
        Json(std::string("one\0", 4)), Json(std::string(5000, 'a')), Json(1), Json(nullptr), Json("")})
    CHECK(provider.with_header("kid", kid) == "no key has its algorithm and its key id");
  for (const char* field : {"crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c"})
    CHECK(provider.with_header(field, Json::array({"exp"})) == "its header has a field that is not taken");
  CHECK(provider.with_header("typ", "JWE") == "its type is not JWT or at+jwt");
  CHECK(provider.with_header("typ", 1) == "its type is not JWT or at+jwt");
  CHECK(provider.with_header("typ", "at+jwt") == "good");
}

TEST_CASE("issuer, audience, times and subject must be there and fit", "[credentials]") {
  const Provider provider;
  const auto at = [&](int64_t seconds) { return Json(provider.now.time_since_epoch().count() + seconds); };
  CHECK(provider.without_claim("iss") == "it is of another issuer");
  CHECK(provider.with_claim("iss", "https://idp.example/") == "it is of another issuer");
  CHECK(provider.with_claim("iss", {"https://idp.example"}) == "it is of another issuer");
  CHECK(provider.without_claim("aud") == "it is for another audience");
  for (const Json& aud :
       {Json("https://warder.example"), Json("https://warder.example/mcp/"), Json(""), Json(1), Json(nullptr),
        Json::array(), Json::array({"https://other.example"}), Json::array({"https://warder.example/mcp", 1}),
        Json::array({Json::array({"https://warder.example/mcp"})}), Json{{"https://warder.example/mcp", true}}})
    CHECK(provider.with_claim("aud", aud) == "it is for another audience");
  CHECK(provider.without_claim("exp") == "it has no time of expiry");
  for (const Json& exp : {Json("2030"), Json(nullptr), Json(-1), Json(1e300), Json(true)})
    CHECK(provider.with_claim("exp", exp) == "it has no time of expiry");
  CHECK(provider.with_claim("exp", at(-59)) == "good");
  CHECK(provider.with_claim("exp", at(-60)) == "it has expired");
  CHECK(provider.with_claim("nbf", at(60)) == "good");
  CHECK(provider.with_claim("nbf", at(61)) == "it is not valid yet");
  CHECK(provider.with_claim("nbf", at(1'000'000'000)) == "it is not valid yet");
  CHECK(provider.with_claim("nbf", 1e300) == "it is not valid yet");
  CHECK(provider.with_claim("nbf", "now") == "it is not valid yet");
  CHECK(provider.with_claim("iat", at(3600)) == "it is not valid yet");
  CHECK(provider.without_claim("sub") == "it has no subject");
  CHECK(provider.with_claim("sub", 7) == "it has no subject");
  for (const char* sub : {"", "a b", "a\n", "\xc3\xa4", "\x1b[2J"})
    CHECK(provider.with_claim("sub", sub) == "its subject is not 1 to 128 printable characters");
  CHECK(provider.with_claim("sub", std::string(129, 'a')) != "good");
}

TEST_CASE("texts with two meanings, and texts of another form, are refused", "[credentials]") {
  const Provider provider;
  const std::string head = provider.header.dump(), body = provider.claims.dump();
  const std::string twice = R"({"aud":"https://other.example",)" + body.substr(1);
  CHECK(provider.verdict(provider.signed_text(head, twice)) ==
        "its claims are not an object of JSON with each key once");
  CHECK(provider.verdict(provider.signed_text(R"({"alg":"none",)" + head.substr(1), body)) ==
        "its header is not an object of JSON with each key once");
  CHECK(provider.verdict(provider.signed_text(R"({"\u0061lg":"none",)" + head.substr(1), body)) ==
        "its header is not an object of JSON with each key once");
  for (const char* other : {"", "[]", "null", "\"x\"", "{", "{}x", "{\"a\":\xff}"}) {
    CHECK(provider.verdict(provider.signed_text(other, body)) != "good");
    CHECK(provider.verdict(provider.signed_text(head, other)) != "good");
  }
  CHECK(provider.verdict(provider.signed_text(head, std::string(3000, '[') + std::string(3000, ']'))) != "good");
  const std::string good = provider.token();
  REQUIRE(provider.verdict(good) == "good");
  for (const std::string& text :
       {good + ".", "." + good, good + "=", " " + good, good + "\n", good.substr(good.find('.')),
        good + std::string(8192, 'A'), std::string(".."), std::string()})
    CHECK(provider.verdict(text) != "good");
  CHECK(provider.verdict(std::string(9000, 'a')) == "it is longer than 8192 bytes");
  JwtSettings without_keys = provider.settings;
  without_keys.keys.clear();
  CHECK_FALSE(verify_jwt(without_keys, good, provider.now));
  // Each key of another provider is none of this one's.
  CHECK(Provider().verdict(good) == "its signature is wrong");
}

TEST_CASE("a JWKS file with a damaged key is refused, keys of other kinds are skipped", "[credentials]") {
  const Provider provider;
  const auto problem = [](const std::string& text) {
    const auto keys = read_jwks(text);
    return keys ? std::to_string(keys->size()) : keys.error().what;
  };
  CHECK(problem(provider.jwks()) == "1");
  const Json own = Json::parse(provider.jwks())["keys"][0];
  const auto with = [&](Json key) { return problem(Json{{"keys", {own, std::move(key)}}}.dump()); };
  CHECK(with({{"kty", "oct"}, {"kid", "h"}, {"k", "c2VjcmV0"}}) == "1");
  CHECK(with({{"kty", "EC"}, {"crv", "P-384"}, {"kid", "p"}}) == "1");
  CHECK(with({{"kty", "OKP"}, {"crv", "Ed25519"}, {"use", "enc"}, {"kid", "e"}, {"x", own["x"]}}) == "1");
  CHECK(with({{"kty", "OKP"}, {"crv", "Ed25519"}, {"alg", "none"}, {"kid", "e"}, {"x", own["x"]}}) == "1");
  CHECK(with(own) == "keys[1].kid: another key has this id, too");
  CHECK(with({{"kty", "OKP"}, {"crv", "Ed25519"}, {"kid", "e"}, {"x", "AAAA"}}) == "keys[1].x: not 32 bytes");
  CHECK(with({{"kty", "RSA"}, {"kid", "r"}, {"n", base64url(std::string(128, '\xff'))}, {"e", "AQAB"}}) ==
        "keys[1].n: not 2048 to 4096 bits");
  CHECK(with({{"kty", "RSA"}, {"kid", "r"}, {"n", base64url(std::string(256, '\xff'))}, {"e", "AQ"}}) ==
        "keys[1].e: not an odd number from 3 to 4294967295");
  CHECK(with({{"kty", "EC"},
              {"crv", "P-256"},
              {"kid", "c"},
              {"x", base64url(std::string(32, 'x'))},
              {"y", base64url(std::string(32, 'y'))}}) == "keys[1]: not a public key");  // no point of the curve
  CHECK(with(7) == "keys[1]: not an object");
  CHECK(problem("{}") == "keys: not a list of at most 100 keys");
  CHECK(problem(R"({"keys": []})") == "no key for EdDSA, ES256 or RS256");
  CHECK(problem("x") != "1");
  CHECK(problem("{\"keys\": [{\"kid\": \"a\",\n\"kid\": \"b\"}]}") ==
        "line 2, column 1: the key \"kid\" is there twice, first in line 1");
  const TempDirectory folder;
  CHECK_FALSE(read_jwks_file(folder.path() / "none.json"));
  CHECK_FALSE(read_jwks_file(folder.path()));
  std::ofstream(folder.path() / "jwks.json") << provider.jwks();
  CHECK(read_jwks_file(folder.path() / "jwks.json")->size() == 1);
}

TEST_CASE("a key is known again in another document, and only the same key under the same id", "[credentials]") {
  const auto document = [](const char* id, char byte) {
    return Json{{"kid", id}, {"x", base64url(std::string(32, byte))}, {"kty", "OKP"}, {"crv", "Ed25519"}};
  };
  const auto keys = [](const Json& list) { return read_jwks(dump_json({{"keys", list}})).value(); };
  const auto item = keys(Json::array({document("a", '1')})),
             two = keys(Json::array({document("b", '2'), document("a", '1')}));
  CHECK(credentials::has_key(two, item[0]->fingerprint()));
  CHECK_FALSE(credentials::has_key(item, two[0]->fingerprint()));
  CHECK_FALSE(credentials::has_key(keys(Json::array({document("a", '3')})), item[0]->fingerprint()));
  CHECK_FALSE(credentials::has_key(keys(Json::array({document("c", '1')})), item[0]->fingerprint()));
  CHECK_FALSE(credentials::has_key({}, item[0]->fingerprint()));
  CHECK_FALSE(credentials::has_key(item, ""));
}

TEST_CASE("a resource is named by https, or by http on this machine", "[credentials]") {
  for (const char* good : {"https://a.example", "https://a.example/mcp", "http://localhost", "http://localhost:80/mcp",
                           "http://127.0.0.1:1", "http://127.1.2.3/x", "http://[::1]:8080/mcp"})
    CHECK(credentials::is_resource_url(good));
  for (const char* bad :
       {"http://a.example", "http://localhost.a.example", "http://127.0.0.1.a.example/",
        "http://localhost:", "http://localhost:80x", "http://localhost:80:80", "http://127.1", "http://", "http:///mcp",
        "http://[::2]", "http://a@localhost", "https://", "https:///mcp", "ftp://localhost"}) {
    CAPTURE(bad);
    CHECK_FALSE(credentials::is_resource_url(bad));
  }
}
