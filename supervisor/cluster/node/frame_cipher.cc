#include "supervisor/cluster/node/frame_cipher.h"

#include <sodium.h>

#include <algorithm>

#include "supervisor/base/base64.h"

namespace cluster {
namespace {

constexpr size_t kNumberBytes = 8;
static_assert(crypto_kx_PUBLICKEYBYTES == 32 && crypto_kx_SECRETKEYBYTES == 32 && crypto_kx_SESSIONKEYBYTES == 32);
static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == 32 && crypto_aead_chacha20poly1305_ietf_ABYTES == 16);

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

// The number of a frame in its first 8 bytes, which never repeats for a key.
Nonce nonce_of(uint64_t number) {
  Nonce nonce{};
  for (size_t i = 0; i < kNumberBytes; i++) nonce[i] = static_cast<unsigned char>(number >> (8 * i));
  return nonce;
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

FrameCipher::TunnelKeys::TunnelKeys() { crypto_kx_keypair(public_.data(), secret_.data()); }
FrameCipher::TunnelKeys::~TunnelKeys() { sodium_memzero(secret_.data(), secret_.size()); }

std::string FrameCipher::TunnelKeys::public_text() const {
  return to_base64({reinterpret_cast<const char*>(public_.data()), public_.size()});
}

Result<FrameCipher> FrameCipher::make(const TunnelKeys& keys, Side side, std::string_view other) {
  auto key = from_base64(other);
  if (!key || key->size() != crypto_kx_PUBLICKEYBYTES) return fail(Code::invalid, "not a public key of a connection");
  FrameCipher cipher;
  const auto derive = side == Side::asking ? crypto_kx_client_session_keys : crypto_kx_server_session_keys;
  if (derive(cipher.receive_.data(), cipher.send_.data(), keys.public_.data(), keys.secret_.data(), bytes_of(*key)) !=
      0)
    return fail(Code::invalid, "not a usable public key of a connection");
  return cipher;
}

FrameCipher::FrameCipher(FrameCipher&& other) noexcept
    : receive_(other.receive_), send_(other.send_), sent_(other.sent_), received_(other.received_) {
  sodium_memzero(other.receive_.data(), other.receive_.size());
  sodium_memzero(other.send_.data(), other.send_.size());
}

FrameCipher::~FrameCipher() {
  sodium_memzero(receive_.data(), receive_.size());
  sodium_memzero(send_.data(), send_.size());
}

std::string FrameCipher::seal(std::string_view content) {
  const Nonce nonce = nonce_of(sent_++);
  std::string frame(kOverhead + content.size(), '\0');
  std::copy_n(nonce.begin(), kNumberBytes, frame.begin());
  crypto_aead_chacha20poly1305_ietf_encrypt(reinterpret_cast<unsigned char*>(frame.data()) + kNumberBytes, nullptr,
                                            bytes_of(content), content.size(), nullptr, 0, nullptr, nonce.data(),
                                            send_.data());
  return frame;
}

Result<std::string> FrameCipher::open(std::string_view frame) {
  const Nonce nonce = nonce_of(received_);
  if (frame.size() < kOverhead || !std::equal(nonce.begin(), nonce.begin() + kNumberBytes, bytes_of(frame)))
    return fail(Code::denied, "a frame of the connection is missing, or came twice");
  std::string content(frame.size() - kOverhead, '\0');
  if (crypto_aead_chacha20poly1305_ietf_decrypt(reinterpret_cast<unsigned char*>(content.data()), nullptr, nullptr,
                                                bytes_of(frame) + kNumberBytes, frame.size() - kNumberBytes, nullptr, 0,
                                                nonce.data(), receive_.data()) != 0)
    return fail(Code::denied, "a frame of the connection was changed");
  received_++;
  return content;
}

}  // namespace cluster
