// The guest channel: the guest protocol's messages over one SOCK_SEQPACKET socket (jail/guest/README.md).
// Each packet is a byte, 'M' (more follows) or 'F' (the message is whole), and a part of a JSON text.
// The other end is hostile: sizes, depth and types are checked, descriptors are never accepted.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/loop.h"

namespace jail {

class GuestChannel {
 public:
  static constexpr size_t kPacketBytes = 64 * 1024;
  static constexpr size_t kMostUpBytes = 8 * 1024 * 1024;
  static constexpr size_t kFirstWordsBytes = 64 * 1024;

  GuestChannel() = default;
  // The loop must outlive it.
  GuestChannel(Loop& loop, AsyncFd socket) : loop_(&loop), socket_(std::move(socket)) {}
  // Tells the guest that nothing more will come: one that has answered ends.
  void end_sending();
  // For a guest that is about to speak something else; nobody may be sending or receiving.
  AsyncFd take_socket() { return std::move(socket_); }

  // Sends one message, waiting while the guest does not read. One sender at a time.
  // Errors: unavailable when the guest is gone.
  Task<Result<>> send(std::string text);
  Task<Result<>> send_shared(std::shared_ptr<const std::string> text);
  // The text of the next message; nothing at end of file, also where that comes in the middle of one.
  // Errors: invalid for anything outside of the protocol.
  Task<Result<std::optional<std::string>>> receive_text();
  // The same as an object, of an interpreter that has not seen its program yet: a text beyond kFirstWordsBytes is an
  // error.
  Task<Result<std::optional<Json>>> receive();
  // From now on a message has at most so many bytes; never more than kMostUpBytes.
  void limit_messages(size_t bytes) { most_bytes_ = std::min(bytes, kMostUpBytes); }
  // Whether something that was sent has not been read: not yet, or, once the guest is gone, never. The kernel tells:
  // SIOCOUTQ (unix(7)), and ECONNRESET instead of end of file where an end closed with unread data (net/unix/af_unix.c,
  // unix_release_sock, Linux 2.6 to 6.18).
  bool left_unread() const;

 private:
  Loop* loop_ = nullptr;
  AsyncFd socket_;
  size_t most_bytes_ = kMostUpBytes;
  bool reset_ = false;
};

}  // namespace jail
