#include "supervisor/cluster/trust/node_key.h"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>

#include "supervisor/base/base64.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

constexpr std::string_view kPublicPrefix = "ed25519:", kSeedPrefix = "warder-ed25519-seed:";

static_assert(crypto_sign_SEEDBYTES == 32 && crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SECRETKEYBYTES == 64 &&
              crypto_sign_BYTES == 64);

// libsodium needs it before the first use; it may be called again. It fails only where there are no random bytes.
void begin_sodium() {
  if (::sodium_init() < 0) std::abort();
}

std::string signed_bytes(std::string_view purpose, std::string_view bytes) {
  std::string all;
  all.reserve(purpose.size() + 1 + bytes.size());
  all.append(purpose).append(1, '\0').append(bytes);
  return all;
}

const unsigned char* data_of(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

std::string base64_of(const unsigned char* bytes, size_t size) {
  return to_base64({reinterpret_cast<const char*>(bytes), size});
}

// The text must be the one that the bytes have: base64 has several texts for some bytes.
template <size_t kSize>
bool read_base64(std::string_view text, std::array<unsigned char, kSize>& bytes) {
  auto read = from_base64(text);
  if (!read) return false;
  const bool fits = read->size() == kSize && to_base64(*read) == text;
  if (fits) std::copy(read->begin(), read->end(), bytes.begin());
  sodium_memzero(read->data(), read->size());
  return fits;
}

}  // namespace

std::string text_of(const Signature& signature) { return base64_of(signature.data(), signature.size()); }

Result<Signature> parse_signature(std::string_view text) {
  Signature signature{};
  if (text.size() != 88 || !read_base64(text, signature))
    return fail(Code::invalid, "the signature is not 88 characters of base64", "copy the whole line again");
  return signature;
}

Result<PublicKey> PublicKey::parse(std::string_view text) {
  std::array<unsigned char, 32> bytes{};
  if (!text.starts_with(kPublicPrefix) || !read_base64(text.substr(kPublicPrefix.size()), bytes))
    return fail(Code::invalid, "the public key is not \"ed25519:\" and 44 characters of base64",
                "copy the whole key again");
  return of_bytes(bytes);
}

Result<PublicKey> PublicKey::of_bytes(const std::array<unsigned char, 32>& bytes) {
  begin_sodium();
  if (!::crypto_core_ed25519_is_valid_point(bytes.data()))
    return fail(Code::invalid, "the public key is no key of Ed25519", "make a new key on its node");
  PublicKey key;
  key.bytes_ = bytes;
  return key;
}

std::string PublicKey::text() const { return std::string(kPublicPrefix) + base64_of(bytes_.data(), bytes_.size()); }

bool PublicKey::verifies(std::string_view purpose, std::string_view bytes, const Signature& signature) const {
  begin_sodium();
  const std::string all = signed_bytes(purpose, bytes);
  return ::crypto_sign_verify_detached(signature.data(), data_of(all), all.size(), bytes_.data()) == 0;
}

Result<std::string> PublicKey::encrypt(std::string_view purpose, std::string_view secret) const {
  begin_sodium();
  std::array<unsigned char, crypto_box_PUBLICKEYBYTES> box_key{};
  if (::crypto_sign_ed25519_pk_to_curve25519(box_key.data(), bytes_.data()) != 0)
    return fail(Code::invalid, "this public key cannot encrypt");
  std::string all = signed_bytes(purpose, secret);
  std::string sealed(all.size() + crypto_box_SEALBYTES, '\0');
  ::crypto_box_seal(reinterpret_cast<unsigned char*>(sealed.data()), data_of(all), all.size(), box_key.data());
  sodium_memzero(all.data(), all.size());
  return to_base64(sealed);
}

PrivateKey PrivateKey::generate() {
  begin_sodium();
  Seed seed{};
  randombytes_buf(seed.data(), seed.size());
  PrivateKey key = of_seed(seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}

PrivateKey PrivateKey::of_seed(const Seed& seed) {
  begin_sodium();
  PrivateKey key;
  ::crypto_sign_seed_keypair(key.public_key_.bytes_.data(), key.secret_.data(), seed.data());
  return key;
}

Result<PrivateKey> PrivateKey::parse(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  Seed seed{};
  if (!text.starts_with(kSeedPrefix) || !read_base64(text.substr(kSeedPrefix.size()), seed))
    return fail(Code::invalid, "it is not one line, \"warder-ed25519-seed:\" and 44 characters of base64",
                "restore the file from its backup, or make a new key: warder cluster rotate");
  PrivateKey key = of_seed(seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}

Result<PrivateKey> PrivateKey::load(const std::string& path) {
  TRY(std::string text, read_private_file(path));
  auto key = parse(text);
  sodium_memzero(text.data(), text.size());
  if (!key) return tl::unexpected<Error>(std::move(key).error().within(path));
  return key;
}

PrivateKey::PrivateKey(PrivateKey&& other) noexcept { *this = std::move(other); }

PrivateKey& PrivateKey::operator=(PrivateKey&& other) noexcept {
  if (this == &other) return *this;
  secret_ = other.secret_;
  public_key_ = other.public_key_;
  sodium_memzero(other.secret_.data(), other.secret_.size());
  return *this;
}

PrivateKey::~PrivateKey() { sodium_memzero(secret_.data(), secret_.size()); }

Signature PrivateKey::sign(std::string_view purpose, std::string_view bytes) const {
  const std::string all = signed_bytes(purpose, bytes);
  Signature signature{};
  ::crypto_sign_detached(signature.data(), nullptr, data_of(all), all.size(), secret_.data());
  return signature;
}

Result<std::string> PrivateKey::decrypt(std::string_view purpose, std::string_view text) const {
  TRY(const std::string sealed, from_base64(text));
  std::array<unsigned char, crypto_box_PUBLICKEYBYTES> box_key{};
  std::array<unsigned char, crypto_box_SECRETKEYBYTES> box_secret{};
  const std::string begin = signed_bytes(purpose, {});
  std::string all(sealed.size() - std::min<size_t>(sealed.size(), crypto_box_SEALBYTES), '\0');
  const bool is_open = sealed.size() >= crypto_box_SEALBYTES &&
                       ::crypto_sign_ed25519_pk_to_curve25519(box_key.data(), public_key_.bytes_.data()) == 0 &&
                       ::crypto_sign_ed25519_sk_to_curve25519(box_secret.data(), secret_.data()) == 0 &&
                       ::crypto_box_seal_open(reinterpret_cast<unsigned char*>(all.data()), data_of(sealed),
                                              sealed.size(), box_key.data(), box_secret.data()) == 0;
  sodium_memzero(box_secret.data(), box_secret.size());
  if (!is_open || !all.starts_with(begin)) {
    sodium_memzero(all.data(), all.size());
    return fail(Code::denied, "it is encrypted for another key");
  }
  std::string secret = all.substr(begin.size());
  sodium_memzero(all.data(), all.size());
  return secret;
}

std::string PrivateKey::secret_text() const {
  std::string seed = base64_of(secret_.data(), 32);  // libsodium's secret key begins with the seed
  std::string text = std::string(kSeedPrefix) + seed + "\n";
  sodium_memzero(seed.data(), seed.size());
  return text;
}

}  // namespace cluster
