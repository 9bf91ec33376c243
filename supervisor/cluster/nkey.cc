#include "supervisor/cluster/nkey.h"

#include <fcntl.h>
#include <sodium.h>

#include <array>
#include <cstdint>

#include "supervisor/base/fd.h"
#include "supervisor/base/trimmed.h"

namespace cluster {
namespace {

constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr unsigned kSeedPrefix = 18 << 3;  // 'S'
constexpr unsigned kUserPrefix = 20 << 3;  // 'U'
constexpr size_t kSeedLetters = 58;
constexpr size_t kSeedBytes = 2 + crypto_sign_SEEDBYTES + 2;

std::string to_base32(std::string_view bytes) {
  std::string text;
  unsigned held = 0, bits = 0;
  for (const char c : bytes) {
    held = (held << 8) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 5; bits -= 5) text += kBase32[(held >> (bits - 5)) & 31];
  }
  if (bits > 0) text += kBase32[(held << (5 - bits)) & 31];
  return text;
}

// Empty: a character is not of the alphabet.
std::string from_base32(std::string_view text) {
  std::string bytes;
  unsigned held = 0, bits = 0;
  for (const char c : text) {
    const size_t value = kBase32.find(c);
    if (value == kBase32.npos) return {};
    held = (held << 5) | static_cast<unsigned>(value);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((held >> bits) & 255);
  }
  return bytes;
}

// CRC-16/XMODEM, low byte first.
std::string checksum(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return {static_cast<char>(crc & 255), static_cast<char>(crc >> 8)};
}

std::string encoded(std::string bytes) {
  bytes += checksum(bytes);
  return to_base32(bytes);
}

struct KeyPair {
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> open{};
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
  ~KeyPair() { sodium_memzero(secret.data(), secret.size()); }
};

Result<> key_pair(std::string_view text, KeyPair& pair) {
  const std::string_view letters = trimmed(text, " \t\r\n");
  std::string seed = from_base32(letters);
  const bool valid = letters.size() == kSeedLetters && seed.size() == kSeedBytes &&
                     static_cast<unsigned char>(seed[0]) == (kSeedPrefix | (kUserPrefix >> 5)) &&
                     static_cast<unsigned char>(seed[1]) == ((kUserPrefix & 31) << 3) &&
                     std::string_view(seed).substr(kSeedBytes - 2) == checksum(seed.substr(0, kSeedBytes - 2));
  if (valid)
    crypto_sign_seed_keypair(pair.open.data(), pair.secret.data(),
                             reinterpret_cast<const unsigned char*>(seed.data()) + 2);
  sodium_memzero(seed.data(), seed.size());
  if (!valid)
    return fail(Code::invalid, "not the seed of a user's nkey", "a seed begins with SU and has 58 characters");
  return {};
}

}  // namespace

std::string new_nkey_seed() {
  std::string seed{static_cast<char>(kSeedPrefix | (kUserPrefix >> 5)), static_cast<char>((kUserPrefix & 31) << 3)};
  seed.resize(2 + crypto_sign_SEEDBYTES);
  randombytes_buf(seed.data() + 2, crypto_sign_SEEDBYTES);
  return encoded(std::move(seed));
}

Result<std::string> nkey_public_key(std::string_view seed) {
  KeyPair pair;
  CHECKED(key_pair(seed, pair));
  std::string key{static_cast<char>(kUserPrefix)};
  key.append(pair.open.begin(), pair.open.end());
  return encoded(std::move(key));
}

Result<std::string> nkey_sign(std::string_view seed, std::string_view bytes) {
  KeyPair pair;
  CHECKED(key_pair(seed, pair));
  std::string signature(crypto_sign_BYTES, '\0');
  crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), pair.secret.data());
  return signature;
}

Result<std::string> read_nkey_seed(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(errno, "open the nkey's seed '" + path + "'", Code::unavailable);
  std::string text(4097, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return fail_errno(errno, "read the nkey's seed '" + path + "'", Code::unavailable);
  if (size == 4097) return fail(Code::invalid, "the file '" + path + "' is larger than 4 KiB: no seed of an nkey");
  text.resize(static_cast<size_t>(size));
  return text.substr(0, text.find('\n'));
}

}  // namespace cluster
