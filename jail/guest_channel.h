// The guest channel: the guest protocol's messages over one SOCK_SEQPACKET socket (jail/guest/README.md).
// Each packet is a byte, 'M' (more follows) or 'F' (the message is whole), and a part of a JSON text.
// The other end is hostile: sizes, depth and types are checked, descriptors are never accepted.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "supervisor/base/loop.h"

namespace jail {

class GuestChannel {
 public:
  static constexpr size_t kPacketBytes = 64 * 1024;
  static constexpr size_t kMostUpBytes = 8 * 1024 * 1024;

  GuestChannel() = default;
  explicit GuestChannel(AsyncFd socket) : socket_(std::move(socket)) {}
  // Tells the guest that nothing more will come: one that has answered ends.
  void end_sending();
  // For a guest that is about to speak something else; nobody may be sending or receiving.
  AsyncFd take_socket() { return std::move(socket_); }

  // Sends one message, waiting while the guest does not read. One sender at a time.
  // Errors: unavailable when the guest is gone.
  Task<Result<>> send(std::string text);
  // The next message; nothing at end of file. Errors: invalid for anything outside of the protocol.
  Task<Result<std::optional<nlohmann::json>>> receive();
  // Whether something that was sent has not been read: not yet, or, once the guest is gone, never. The kernel tells:
  // SIOCOUTQ (unix(7)), and ECONNRESET instead of end of file where an end closed with unread data (net/unix/af_unix.c,
  // unix_release_sock, Linux 2.6 to 6.18).
  bool left_unread() const;

 private:
  AsyncFd socket_;
  bool reset_ = false;
};

}  // namespace jail
