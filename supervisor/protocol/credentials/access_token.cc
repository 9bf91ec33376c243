#include "supervisor/protocol/credentials/access_token.h"

#include <sodium.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace credentials {
namespace {

constexpr size_t kSecretBytes = 32, kCheckBytes = 4, kHashBytes = 32;
constexpr size_t kTokenBytes = kSecretBytes + kCheckBytes;
constexpr size_t kTokenCharacters = kTokenBytes / 3 * 4;  // without padding, because 36 is a multiple of 3
constexpr std::string_view kHashPrefix = "blake2b:";
constexpr char kRemedy[] = "copy the whole token: wrd_ and 48 characters";

std::string blake2b(std::string_view bytes, size_t size) {
  std::string hash(size, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), size,
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return hash;
}

// At least 16 bytes: the least that crypto_generichash() makes.
std::string check_of(std::string_view secret) { return blake2b(secret, 16).substr(0, kCheckBytes); }

// Cannot fail: see supervisor/base/random.h.
std::string random_secret() {
  std::string bytes(kSecretBytes, '\0');
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    if (errno != EINTR) std::abort();
  return bytes;
}

}  // namespace

std::string new_access_token() {
  std::string bytes = random_secret();
  bytes += check_of(bytes);
  std::string text(kTokenCharacters + 1, '\0');  // with a NUL at its end
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  text.pop_back();
  return std::string(kTokenPrefix) + text;
}

Result<> check_access_token(std::string_view text) {
  if (!text.starts_with(kTokenPrefix)) return fail(Code::invalid, "a token begins with wrd_", kRemedy);
  text.remove_prefix(kTokenPrefix.size());
  if (text.size() != kTokenCharacters)
    return fail(Code::invalid, "the token has " + std::to_string(text.size()) + " characters behind wrd_, not 48",
                kRemedy);
  for (const char c : text)
    if (static_cast<unsigned char>(c) > 127)  // libsodium 1.0.18 takes some of these bytes for letters
      return fail(Code::invalid, "the token has a character that no token has", kRemedy);
  std::string bytes(kTokenBytes, '\0');
  size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(), text.size(), nullptr,
                        &size, nullptr, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
      size != kTokenBytes)
    return fail(Code::invalid, "the token has a character that no token has", kRemedy);
  if (check_of(std::string_view(bytes).substr(0, kSecretBytes)) != bytes.substr(kSecretBytes))
    return fail(Code::invalid, "the token is mistyped: its last characters do not fit the others", kRemedy);
  return {};
}

std::string hash_of_token(std::string_view text) {
  const std::string hash = blake2b(text, kHashBytes);
  std::string digits(2 * kHashBytes + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), reinterpret_cast<const unsigned char*>(hash.data()), hash.size());
  digits.pop_back();
  return std::string(kHashPrefix) + digits;
}

bool is_token_hash(std::string_view text) {
  if (!text.starts_with(kHashPrefix) || text.size() != kHashPrefix.size() + 2 * kHashBytes) return false;
  return text.find_first_not_of("0123456789abcdef", kHashPrefix.size()) == text.npos;
}

}  // namespace credentials
