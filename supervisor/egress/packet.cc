#include "supervisor/egress/packet.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "supervisor/base/json/json.h"

namespace egress {
namespace {

constexpr size_t kMaxDescriptors = 4;  // that a wrong packet may bring; they are closed
constexpr int kMaxDepth = 8;

constexpr auto kPeerClosed = "the other end has gone";

Result<> send_text(int socket, std::string_view text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS) return fail(Code::exhausted, "the socket is full");
    return fail_errno(errno, kPeerClosed, Code::unavailable);
  }
}

// The first descriptor; all others are closed.
Fd take_descriptor(msghdr& message) {
  Fd first;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      Fd owned(descriptor);
      if (!first) first = std::move(owned);
    }
  }
  return first;
}

}  // namespace

Task<Result<>> send_packet(AsyncFd& socket, Json body, int descriptor) {
  const std::string text = dump_json(body);
  if (text.size() > kMaxPacketBytes) co_return fail(Code::internal, "the packet is too long");
  for (;;) {
    auto sent = send_text(socket.get(), text, descriptor);
    if (sent || sent.error().code != Code::exhausted) co_return sent;
    co_await socket.writable();
  }
}

Task<Result<Packet>> receive_packet(AsyncFd& socket) {
  for (;;) {
    std::string text(kMaxPacketBytes, '\0');
    iovec part{text.data(), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await socket.readable();
      continue;
    }
    if (got < 0) co_return fail_errno(errno, kPeerClosed, Code::unavailable);
    if (got == 0) co_return fail(Code::unavailable, kPeerClosed);
    Packet packet;
    packet.descriptor = take_descriptor(message);
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) co_return fail(Code::internal, "the packet is too long");
    text.resize(static_cast<size_t>(got));
    CO_TRY(packet.body, parse_json(text, kMaxDepth));
    if (!packet.body.is_object()) co_return fail(Code::internal, "the packet is no JSON object");
    co_return packet;
  }
}

}  // namespace egress
