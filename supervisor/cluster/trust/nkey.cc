#include "supervisor/cluster/trust/nkey.h"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "supervisor/base/trimmed.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr unsigned char kUser = 20 << 3, kSeed = 18 << 3;
constexpr unsigned char kSeedFirst = kSeed | (kUser >> 5), kSeedSecond = static_cast<unsigned char>((kUser & 31) << 3);
constexpr size_t kPublicChars = 56, kSeedChars = 58;

std::string to_base32(std::string_view bytes) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 5; count -= 5) text += kAlphabet[(bits >> (count - 5)) & 31];
  }
  if (count > 0) text += kAlphabet[(bits << (5 - count)) & 31];
  return text;
}

// Only the text that to_base32() makes of the bytes: bits behind the last byte are 0.
std::optional<std::string> from_base32(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == kAlphabet.npos) return {};
    bits = (bits << 5) | static_cast<uint32_t>(value);
    count += 5;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 255);
  }
  if (count >= 5 || (bits & ((1U << count) - 1)) != 0) return {};
  return bytes;
}

std::string with_checksum(std::string bytes) {
  const uint16_t checksum = crc16_xmodem(bytes);
  bytes += static_cast<char>(checksum & 255);
  bytes += static_cast<char>(checksum >> 8);
  std::string text = to_base32(bytes);
  sodium_memzero(bytes.data(), bytes.size());
  return text;
}

tl::unexpected<Error> no_seed() {
  return fail(Code::invalid, "it is not the seed of a NATS user, \"SU\" and 56 characters, or is damaged",
              "restore the file, or make new keys: warder cluster rotate");
}

// The 32 bytes behind a prefix. Empty: the text is no key with that prefix.
std::optional<std::array<unsigned char, 32>> read_nkey(std::string_view text, std::string_view prefix) {
  auto bytes = from_base32(text);
  if (!bytes) return {};
  std::optional<std::array<unsigned char, 32>> key;
  if (bytes->size() == prefix.size() + 34 && bytes->starts_with(prefix)) {
    const std::string_view all = *bytes, before = all.substr(0, all.size() - 2);
    const uint16_t checksum = crc16_xmodem(before);
    if (static_cast<unsigned char>(all[all.size() - 2]) == (checksum & 255) &&
        static_cast<unsigned char>(all[all.size() - 1]) == (checksum >> 8)) {
      key.emplace();
      std::copy(before.begin() + static_cast<ptrdiff_t>(prefix.size()), before.end(), key->begin());
    }
  }
  sodium_memzero(bytes->data(), bytes->size());
  return key;
}

std::optional<PrivateKey::Seed> read_seed(std::string_view text) {
  text = trimmed(text, " \t\r\n");
  const char prefix[] = {static_cast<char>(kSeedFirst), static_cast<char>(kSeedSecond)};
  if (text.size() != kSeedChars) return {};
  return read_nkey(text, {prefix, 2});
}

}  // namespace

uint16_t crc16_xmodem(std::string_view bytes) {
  uint32_t crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; bit++) crc = (crc & 0x8000) ? (crc << 1) ^ 0x1021 : crc << 1;
    crc &= 0xffff;
  }
  return static_cast<uint16_t>(crc);
}

std::string nkey_public_text(const PublicKey& key) {
  std::string bytes(1, static_cast<char>(kUser));
  bytes.append(key.bytes().begin(), key.bytes().end());
  return with_checksum(std::move(bytes));
}

Result<PublicKey> parse_nkey_public(std::string_view text) {
  const char prefix[] = {static_cast<char>(kUser)};
  const auto bytes = text.size() == kPublicChars ? read_nkey(text, {prefix, 1}) : std::nullopt;
  if (!bytes)
    return fail(Code::invalid, "the NATS key is not the public key of a user, \"U\" and 55 characters, or is mistyped",
                "copy the whole key again");
  return PublicKey::of_bytes(*bytes);
}

std::string nkey_seed_text(const PrivateKey::Seed& seed) {
  std::string bytes{static_cast<char>(kSeedFirst), static_cast<char>(kSeedSecond)};
  bytes.reserve(bytes.size() + seed.size() + 2);
  bytes.append(seed.begin(), seed.end());
  return with_checksum(std::move(bytes));
}

std::string new_nkey_seed() {
  if (::sodium_init() < 0) std::abort();  // no random bytes
  PrivateKey::Seed seed{};
  randombytes_buf(seed.data(), seed.size());
  std::string text = nkey_seed_text(seed);
  sodium_memzero(seed.data(), seed.size());
  return text;
}

Result<std::string> read_nkey_seed(const std::string& path) {
  TRY(std::string text, read_private_file(path));
  if (auto checked = nkey_public_key(text); !checked) {
    sodium_memzero(text.data(), text.size());
    return tl::unexpected<Error>(std::move(checked).error().within(path));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<std::string> nkey_public_key(std::string_view seed) {
  auto bytes = read_seed(seed);
  if (!bytes) return no_seed();
  std::string name = nkey_public_text(PrivateKey::of_seed(*bytes).public_key());
  sodium_memzero(bytes->data(), bytes->size());
  return name;
}

Result<std::string> nkey_sign(std::string_view seed, std::string_view bytes) {
  auto of_seed = read_seed(seed);
  if (!of_seed) return no_seed();
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> open{};
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
  ::crypto_sign_seed_keypair(open.data(), secret.data(), of_seed->data());
  std::string signature(crypto_sign_BYTES, '\0');
  ::crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), secret.data());
  sodium_memzero(of_seed->data(), of_seed->size());
  sodium_memzero(secret.data(), secret.size());
  return signature;
}

}  // namespace cluster
