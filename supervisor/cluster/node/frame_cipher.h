// FrameCipher: the frames of one tunnel, encrypted and in order. Each side makes a key pair for the
// connection and sends the public key in a signed envelope; both derive the same two keys (crypto_kx of libsodium:
// X25519 and BLAKE2b). A frame is its number, 8 bytes in little endian, and ChaCha20-Poly1305 of the rest. The bus, or
// another node on it, can neither read a frame nor forge, repeat, drop or reorder one without being noticed.
// Used by: bus_tunnel.h. Errors: denied.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace cluster {

class FrameCipher {
 public:
  static constexpr size_t kOverhead = 8 + 16;  // bytes of a frame besides its content
  enum class Side { asking, requested };

  // The keys of this side. They are wiped at the end.
  class TunnelKeys {
   public:
    TunnelKeys();
    ~TunnelKeys();
    TunnelKeys(const TunnelKeys&) = delete;
    TunnelKeys& operator=(const TunnelKeys&) = delete;
    std::string public_text() const;  // base64

   private:
    friend class FrameCipher;
    std::array<unsigned char, 32> public_{}, secret_{};
  };

  // Errors: invalid, `other` is no public key.
  static Result<FrameCipher> make(const TunnelKeys& keys, Side side, std::string_view other);
  FrameCipher(FrameCipher&& other) noexcept;
  ~FrameCipher();

  std::string seal(std::string_view content);
  // The next frame of the other side. Errors: denied: it is not the next one, or was changed.
  Result<std::string> open(std::string_view frame);

 private:
  FrameCipher() = default;
  std::array<unsigned char, 32> receive_{}, send_{};
  uint64_t sent_ = 0, received_ = 0;
};

}  // namespace cluster
