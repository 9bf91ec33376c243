#include "jail/fd_message.h"

#include <sys/socket.h>

#include <cstring>

namespace jail {
namespace {
constexpr size_t kMaxFds = kMaxFdsOfMessage;
}

Result<> send_message(int socket, const void* data, size_t size, const std::vector<int>& fds) {
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fds.size() > kMaxFds) return fail(Code::internal, "too many descriptors in one message");
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t sent;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno, "sendmsg", errno == EAGAIN ? Code::unavailable : Code::internal);
  return {};
}

Result<Received> receive_message(int socket, void* data, size_t size, int max_fds) {
  iovec part{data, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<size_t>(max_fds));
  ssize_t n;
  do n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0) return fail_errno(errno, "recvmsg", errno == EAGAIN ? Code::unavailable : Code::internal);
  Received received;
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof fd);
      received.fds.emplace_back(fd);
    }
  }
  if (n == 0) return received;
  received.open = true;
  if (static_cast<size_t>(n) != size || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
    return fail(Code::internal, "a message of the wrong size");
  return received;
}

}  // namespace jail
