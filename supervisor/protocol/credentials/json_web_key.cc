#include "supervisor/protocol/credentials/json_web_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/protocol/credentials/libcrypto.h"

namespace credentials {
namespace {

using Algorithm = JsonWebKey::Algorithm;

constexpr size_t kMaxJwksBytes = 256 << 10, kMaxKeys = 100, kMaxKeyId = 256;
constexpr size_t kMinRsaBytes = 256, kMaxRsaBytes = 512;  // 2048 to 4096 bits: the time of one check is bounded
constexpr size_t kMaxExponentBytes = 4;
constexpr size_t kCoordinateBytes = 32;  // P-256

// Texts of DER (X.690), as far as a public key and a signature need them.
std::string der(unsigned char tag, std::string_view content) {
  std::string text(1, static_cast<char>(tag));
  if (content.size() < 128) {
    text += static_cast<char>(content.size());
  } else if (content.size() < 256) {
    text += "\x81";
    text += static_cast<char>(content.size());
  } else {
    text += "\x82";
    text += static_cast<char>(content.size() >> 8);
    text += static_cast<char>(content.size() & 255);
  }
  return text.append(content);
}
// A positive integer: as few bytes as possible, and a zero before a byte with the highest bit.
std::string der_integer(std::string_view bytes) {
  while (bytes.size() > 1 && bytes.front() == '\0') bytes.remove_prefix(1);
  std::string content;
  if (static_cast<unsigned char>(bytes.front()) >= 128) content += '\0';
  return der(0x02, content.append(bytes));
}
std::string der_public_key(std::string_view algorithm, std::string_view key) {
  std::string bits(1, '\0');  // no unused bits
  bits += key;
  return der(0x30, der(0x30, algorithm) + der(0x03, bits));
}

constexpr std::string_view kRsaAlgorithm("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00", 13);
constexpr std::string_view kP256Algorithm(
    "\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 19);

class Ed25519Key : public JsonWebKey {
 public:
  Ed25519Key(std::string id, std::string key)
      : JsonWebKey(std::move(id), Algorithm::eddsa, key), key_(std::move(key)) {}
  bool verifies(std::string_view signed_text, std::string_view signature) const override {
    if (signature.size() != crypto_sign_BYTES) return false;
    return crypto_sign_verify_detached(reinterpret_cast<const unsigned char*>(signature.data()),
                                       reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(),
                                       reinterpret_cast<const unsigned char*>(key_.data())) == 0;
  }

 private:
  std::string key_;
};

class LibcryptoKey : public JsonWebKey {
 public:
  LibcryptoKey(std::string id, Algorithm algorithm, std::string_view text, const Libcrypto& crypto, EVP_PKEY* key)
      : JsonWebKey(std::move(id), algorithm, text), crypto_(crypto), key_(key) {}
  ~LibcryptoKey() override { crypto_.pkey_free(key_); }
  bool verifies(std::string_view signed_text, std::string_view signature) const override {
    std::string in_der;
    if (algorithm() == Algorithm::es256) {  // r and s, one after the other (RFC 7518, section 3.4)
      if (signature.size() != 2 * kCoordinateBytes) return false;
      in_der = der(
          0x30, der_integer(signature.substr(0, kCoordinateBytes)) + der_integer(signature.substr(kCoordinateBytes)));
      signature = in_der;
    }
    EVP_MD_CTX* const context = crypto_.md_ctx_new();
    if (!context) return false;
    // The padding of an RSA key is that of RS256, PKCS #1 version 1.5, unless another is chosen.
    const bool good =
        crypto_.digest_verify_init(context, nullptr, crypto_.sha256(), nullptr, key_) == 1 &&
        crypto_.digest_verify(context, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                              reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size()) == 1;
    crypto_.md_ctx_free(context);
    return good;
  }

 private:
  const Libcrypto& crypto_;
  EVP_PKEY* key_;
};

Result<std::string> bytes_of(const Json& key, const char* name, const std::string& path) {
  auto bytes = from_base64url(text_member(key, name));
  if (!bytes || bytes->empty()) return fail(Code::invalid, fmt::format("{}.{}: not base64url", path, name));
  return bytes;
}

Result<std::shared_ptr<const JsonWebKey>> libcrypto_key(std::string id, Algorithm algorithm, const std::string& text,
                                                        const std::string& path) {
  TRY(const Libcrypto* crypto, load_libcrypto());
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  EVP_PKEY* const key = crypto->d2i_pubkey(nullptr, &at, static_cast<long>(text.size()));
  if (!key) return fail(Code::invalid, path + ": not a public key");  // for example a point that is not on the curve
  return std::make_shared<const LibcryptoKey>(std::move(id), algorithm, text, *crypto, key);
}

Result<std::shared_ptr<const JsonWebKey>> read_ec_key(const Json& key, std::string id, const std::string& path) {
  TRY(const std::string x, bytes_of(key, "x", path));
  TRY(const std::string y, bytes_of(key, "y", path));
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes)
    return fail(Code::invalid, path + ": x and y of P-256 have 32 bytes each");
  return libcrypto_key(std::move(id), Algorithm::es256, der_public_key(kP256Algorithm, "\x04" + x + y), path);
}

Result<std::shared_ptr<const JsonWebKey>> read_rsa_key(const Json& key, std::string id, const std::string& path) {
  TRY(const std::string n, bytes_of(key, "n", path));
  TRY(const std::string e, bytes_of(key, "e", path));
  if (n.size() < kMinRsaBytes || n.size() > kMaxRsaBytes || static_cast<unsigned char>(n.front()) < 128)
    return fail(Code::invalid, path + ".n: not 2048 to 4096 bits");
  if (e.size() > kMaxExponentBytes || e.front() == '\0' || (e.back() & 1) == 0 || (e.size() == 1 && e.front() < 3))
    return fail(Code::invalid, path + ".e: not an odd number from 3 to 4294967295");
  return libcrypto_key(std::move(id), Algorithm::rs256,
                       der_public_key(kRsaAlgorithm, der(0x30, der_integer(n) + der_integer(e))), path);
}

// nullptr: a key for other programs.
Result<std::shared_ptr<const JsonWebKey>> read_key(const Json& key, const std::string& path) {
  if (!key.is_object()) return fail(Code::invalid, path + ": not an object");
  std::string id = text_member(key, "kid");
  if (id.size() > kMaxKeyId) return fail(Code::invalid, path + ".kid: longer than 256 bytes");
  const std::string type = text_member(key, "kty"), curve = text_member(key, "crv"), use = text_member(key, "use");
  const std::string algorithm = text_member(key, "alg");
  const auto is_for = [&](Algorithm item) { return algorithm.empty() || algorithm == algorithm_name(item); };
  if (!use.empty() && use != "sig") return nullptr;
  if (type == "OKP" && curve == "Ed25519" && is_for(Algorithm::eddsa)) {
    TRY(std::string x, bytes_of(key, "x", path));
    if (x.size() != crypto_sign_PUBLICKEYBYTES) return fail(Code::invalid, path + ".x: not 32 bytes");
    return std::make_shared<const Ed25519Key>(std::move(id), std::move(x));
  }
  if (type == "EC" && curve == "P-256" && is_for(Algorithm::es256)) return read_ec_key(key, std::move(id), path);
  if (type == "RSA" && is_for(Algorithm::rs256)) return read_rsa_key(key, std::move(id), path);
  return nullptr;
}

}  // namespace

JsonWebKey::JsonWebKey(std::string id, Algorithm algorithm, std::string_view material)
    : id_(std::move(id)), algorithm_(algorithm) {
  crypto_generichash_state state;
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash;
  crypto_generichash_init(&state, nullptr, 0, hash.size());
  for (const std::string_view part : {algorithm_name(algorithm), std::string_view("\0", 1), material,
                                      std::string_view(id_)})  // the first two have no NUL, and a key has a fixed form
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  fingerprint_.assign(reinterpret_cast<const char*>(hash.data()), hash.size());
}

std::string_view algorithm_name(JsonWebKey::Algorithm algorithm) {
  return algorithm == Algorithm::eddsa ? "EdDSA" : algorithm == Algorithm::es256 ? "ES256" : "RS256";
}

Result<std::string> from_base64url(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  size_t size = 0;
  for (const char c : text)
    if (static_cast<unsigned char>(c) > 127) return fail(Code::invalid, "not base64url");
  // libsodium refuses padding, other characters, and bits that are set beyond the last byte.
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(), text.size(), nullptr,
                        &size, nullptr, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
    return fail(Code::invalid, "not base64url");
  bytes.resize(size);
  return bytes;
}

Result<JsonWebKeys> read_jwks(std::string_view text) {
  TRY(const Json document, parse_json_file(repaired_json(text), 8));
  const auto list = document.is_object() ? document.find("keys") : document.end();
  if (list == document.end() || !list->is_array() || list->size() > kMaxKeys)
    return fail(Code::invalid, fmt::format("keys: not a list of at most {} keys", kMaxKeys));
  JsonWebKeys keys;
  std::set<std::string> ids;
  for (size_t i = 0; i < list->size(); i++) {
    const std::string path = fmt::format("keys[{}]", i);
    TRY(auto key, read_key((*list)[i], path));
    if (!key) continue;
    if (!ids.insert(key->id()).second) return fail(Code::invalid, path + ".kid: another key has this id, too");
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return fail(Code::invalid, "no key for EdDSA, ES256 or RS256");
  return keys;
}

bool has_key(const JsonWebKeys& keys, std::string_view fingerprint) {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return key->fingerprint() == fingerprint; });
}

Result<JsonWebKeys> read_jwks_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno(errno, "open " + path, Code::invalid);
  TRY(const std::string text, read_complete(file.get(), kMaxJwksBytes));
  auto keys = read_jwks(text);
  if (!keys) return tl::unexpected<Error>(std::move(keys).error().within(path));
  return keys;
}

}  // namespace credentials
