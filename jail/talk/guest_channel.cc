#include "jail/talk/guest_channel.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

#include "jail/fd_message.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace jail {
namespace {
char packet[GuestChannel::kPacketBytes];  // shared by all channels: there is one thread, and no code waits while the
                                          // buffer is in use
constexpr int kPacketsInATurn = 8;

// True if the guest sends no more. recv() returns 0 at its end of file, and also for an empty packet.
bool has_ended(int socket) {
  pollfd check{socket, POLLRDHUP, 0};
  return ::poll(&check, 1, 0) != 0;
}
}  // namespace

Task<Result<>> GuestChannel::send(std::string text) {
  return send_shared(std::make_shared<const std::string>(std::move(text)));
}

Task<Result<>> GuestChannel::send_shared(std::shared_ptr<const std::string> full) {
  const std::string& text = *full;
  std::string part;
  size_t at = 0;
  int packets = 0;
  do {
    size_t n = std::min(kPacketBytes - 1, text.size() - at);
    part.assign(1, at + n == text.size() ? 'F' : 'M');
    part.append(text, at, n);
    ssize_t sent = ::send(socket_.get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      co_await socket_.writable();
      continue;
    }
    if (sent < 0) co_return fail_errno(errno, "send to the guest", Code::unavailable);
    at += n;
    // Other tasks get their turn first, however fast the guest reads.
    if (++packets % kPacketsInATurn == 0 && at < text.size()) co_await next_turn(*loop_);
  } while (at < text.size());
  co_return Result<>{};
}

Task<Result<>> GuestChannel::send_descriptor(int fd) {
  const std::vector<int> fds{fd};
  for (;;) {
    auto sent = send_message(socket_.get(), "D", 1, fds);
    if (sent || sent.error().code != Code::unavailable) co_return sent;
    co_await socket_.writable();
  }
}

bool GuestChannel::left_unread() const {
  int bytes = 0;
  return reset_ || (socket_ && ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0);
}

void GuestChannel::end_sending() {
  if (socket_) (void)::shutdown(socket_.get(), SHUT_WR);
}

Task<Result<std::optional<std::string>>> GuestChannel::receive_text() {
  std::string text;
  for (int packets = 1;; packets++) {
    if (packets % kPacketsInATurn == 0) co_await next_turn(*loop_);  // other tasks first, however fast it writes
    iovec part{packet, kPacketBytes};
    msghdr message{};  // no control buffer: descriptors that a guest attaches are closed by the kernel
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ssize_t n = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      co_await socket_.readable();
      continue;
    }
    if (n < 0 && errno != ECONNRESET) co_return fail_errno(errno, "receive from the guest", Code::unavailable);
    if (n < 0) reset_ = true;
    if (n == 0 && !has_ended(socket_.get())) co_return fail(Code::invalid, "a packet of the guest is empty");
    if (n <= 0) co_return std::optional<std::string>{};  // also in the middle of a message: the program has ended
    if (message.msg_flags & MSG_TRUNC) co_return fail(Code::invalid, "a packet of the guest is over 64 KiB");
    if (message.msg_flags & MSG_CTRUNC) co_return fail(Code::invalid, "the guest sent descriptors");
    char mark = packet[0];
    if (mark != 'M' && mark != 'F') co_return fail(Code::invalid, "a packet of the guest has no part mark");
    text.append(packet + 1, static_cast<size_t>(n) - 1);
    if (text.size() > max_bytes_)
      co_return fail(Code::invalid, fmt::format("a message of the guest is over {} bytes", max_bytes_));
    if (mark == 'F') co_return std::optional<std::string>(std::move(text));
    if (n == 1) co_return fail(Code::invalid, "an empty part of a message");  // else a flood of these never ends
  }
}

Task<Result<std::optional<Json>>> GuestChannel::receive() {
  CO_TRY(const std::optional<std::string> text, co_await receive_text());
  if (!text) co_return std::optional<Json>{};
  if (text->size() > kFirstWordsBytes) co_return fail(Code::invalid, "the guest's first message is over 64 KiB");
  CO_TRY(Json parsed, parse_json(*text));
  if (!parsed.is_object()) co_return fail(Code::invalid, "a message of the guest is not an object");
  co_return std::optional<Json>(std::move(parsed));
}

}  // namespace jail
