// Keys of the cluster: Ed25519 (RFC 8032) by libsodium. A node signs its messages to other nodes with its key, and an
// authority, which is a key of the administrator, signs the rules of the cluster.
//
// Text forms: a public key is "ed25519:" and 44 characters of base64. A private key is one line of a file,
// "warder-ed25519-seed:" and 44 characters of base64, which are the 32 bytes that both keys are derived from.
// Each signature is made for one purpose. The name of the purpose is signed, too: "warder envelope 1", one NUL, the
// bytes. So a signature for one purpose is not valid for another.
//
// Source: `warder cluster init` and `join` make them. Used by: envelope.h, signed_rule.h, join_request.h. Errors:
// invalid: the fault of a text; denied: another user could have read a file. No error contains a private key.
#pragma once
#include <array>
#include <compare>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace cluster {

// What signatures are made for.
inline constexpr std::string_view kEnvelopePurpose = "warder envelope 1";
inline constexpr std::string_view kRulePurpose = "warder rule 1";
inline constexpr std::string_view kJoinPurpose = "warder join 1";
inline constexpr std::string_view kKeyChangePurpose = "warder key change 1";
inline constexpr std::string_view kIntroductionPurpose = "warder authority 1";
// What secrets are encrypted for.
inline constexpr std::string_view kVaultKeyPurpose = "warder vault key 1";

using Signature = std::array<unsigned char, 64>;
std::string text_of(const Signature& signature);  // 88 characters of base64
// Errors: invalid: the text is no base64 of 64 bytes.
Result<Signature> parse_signature(std::string_view text);

class PublicKey {
 public:
  PublicKey() = default;  // 32 zero bytes; it verifies no signature
  // Errors: invalid. Points of small order and texts in another than the shortest form are refused, too.
  static Result<PublicKey> parse(std::string_view text);
  static Result<PublicKey> of_bytes(const std::array<unsigned char, 32>& bytes);

  std::string text() const;
  const std::array<unsigned char, 32>& bytes() const { return bytes_; }
  bool verifies(std::string_view purpose, std::string_view bytes, const Signature& signature) const;
  // Encrypts a secret for the holder of the private key (sealed box of libsodium, with the X25519 key of the same
  // seed), as base64. It does not say who made it. Errors: invalid: the key has no such form.
  Result<std::string> encrypt(std::string_view purpose, std::string_view secret) const;
  auto operator<=>(const PublicKey&) const = default;

 private:
  friend class PrivateKey;
  std::array<unsigned char, 32> bytes_{};
};

// PrivateKey: its memory is wiped at its end. It can be moved, and not copied.
class PrivateKey {
 public:
  using Seed = std::array<unsigned char, 32>;

  static PrivateKey generate();
  static PrivateKey of_seed(const Seed& seed);
  // One line, with or without its newline.
  static Result<PrivateKey> parse(std::string_view text);
  // Reads the file by read_private_file() (private_file.h).
  static Result<PrivateKey> load(const std::string& path);

  PrivateKey(PrivateKey&& other) noexcept;
  PrivateKey& operator=(PrivateKey&& other) noexcept;
  PrivateKey(const PrivateKey&) = delete;
  ~PrivateKey();

  const PublicKey& public_key() const { return public_key_; }
  Signature sign(std::string_view purpose, std::string_view bytes) const;
  // The secret that PublicKey::encrypt() made into this text; the caller wipes it (sodium_memzero). Errors: invalid: it
  // is no base64; denied: it was made for another key or another purpose.
  Result<std::string> decrypt(std::string_view purpose, std::string_view text) const;
  // The text of a file. The caller wipes it (sodium_memzero).
  std::string secret_text() const;

 private:
  PrivateKey() = default;
  std::array<unsigned char, 64> secret_{};
  PublicKey public_key_;
};

}  // namespace cluster
