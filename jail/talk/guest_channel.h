// GuestChannel: the messages of the guest protocol, over one SOCK_SEQPACKET socket (jail/guest/README.md).
// Each packet is a byte, 'M' (more follows) or 'F' (the last part), and then a part of a JSON text. Down there
// is one more packet, 'D' with a descriptor, behind a message that announces it.
// The guest is hostile: sizes, depth and types are checked, and descriptors are never accepted.
// Source: jail/jail.cc makes one for each jail. Used by: jail/execution/running_execution.cc,
// jail/talk/replies.h, jail/zygote.cc.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/loop.h"

namespace jail {

class GuestChannel {
 public:
  static constexpr size_t kPacketBytes = 64 * 1024;
  static constexpr size_t kMaxUpBytes = 8 * 1024 * 1024;
  static constexpr size_t kFirstWordsBytes = 64 * 1024;

  GuestChannel() = default;
  // The loop must outlive the channel.
  GuestChannel(Loop& loop, AsyncFd socket) : loop_(&loop), socket_(std::move(socket)) {}
  // Shuts the sending side. The guest sees end of file; a runner that has sent its result then exits.
  void end_sending();
  // Gives the socket away, for a guest that will speak another protocol. No send() or receive() may be running.
  AsyncFd take_socket() { return std::move(socket_); }

  // Sends one message; waits while the guest does not read. One sender at a time.
  // Errors: unavailable when the guest is gone.
  Task<Result<>> send(std::string text);
  Task<Result<>> send_shared(std::shared_ptr<const std::string> text);
  // Sends a packet `D` with a copy of the descriptor, after the message that announces it. Waits like send().
  Task<Result<>> send_descriptor(int fd);
  // The text of the next message; empty at end of file, even in the middle of a message.
  // Errors: invalid for bytes that break the protocol.
  Task<Result<std::optional<std::string>>> receive_text();
  // The next message as an object, from an interpreter that has not seen its program yet. A text of more than
  // kFirstWordsBytes is an error.
  Task<Result<std::optional<Json>>> receive();
  // From now on a message has at most this many bytes; never more than kMaxUpBytes.
  void limit_messages(size_t bytes) { max_bytes_ = std::min(bytes, kMaxUpBytes); }
  // True if the guest has not read all that was sent: not yet, or, once the guest is gone, never. Source: SIOCOUTQ
  // (unix(7)), and ECONNRESET instead of end of file where an end closed with unread data (net/unix/af_unix.c,
  // unix_release_sock, Linux 2.6 to 6.18).
  bool left_unread() const;

 private:
  Loop* loop_ = nullptr;
  AsyncFd socket_;
  size_t max_bytes_ = kMaxUpBytes;
  bool reset_ = false;
};

}  // namespace jail
