#include "supervisor/daemon/systemd/fd_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::string_view kPrefix = "client-";
constexpr size_t kMaxWaiting = 4096;
constexpr size_t kMaxDescriptors = 2;

}  // namespace

std::optional<unsigned> FdStore::number_in(const std::string& name) {
  if (!name.starts_with(kPrefix)) return {};
  const char* first = name.data() + kPrefix.size();
  const char* last = name.data() + name.size();
  unsigned number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc() || end != last) return {};
  return number;
}

Result<std::unique_ptr<FdStore>> FdStore::open(Loop& loop, const std::vector<StoredConnection>& connections) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = path ? std::strlen(path) : 0;
  if (length == 0 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
    return fail(Code::unavailable, "NOTIFY_SOCKET is not the address of a Unix socket");
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) < 0)
    return fail_errno(errno, fmt::format("connect to {}", path), Code::unavailable);
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  unsigned next = 1;
  for (const auto& connection : connections) next = std::max(next, number_in(connection.name).value_or(0) + 1);
  return std::unique_ptr<FdStore>(new FdStore(loop, std::move(watched), next));
}

std::function<void()> FdStore::keep(int socket, int record) {
  if (queue_.size() >= kMaxWaiting) return nullptr;
  StoreMessage order;
  for (const int fd : {socket, record}) {
    order.descriptors.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!order.descriptors.back()) return nullptr;
  }
  std::string name = fmt::format("{}{}", kPrefix, next_++);
  order.text = fmt::format("FDSTORE=1\nFDNAME={}", name);
  send(std::move(order));
  return forget(std::move(name));
}

std::function<void()> FdStore::forget(std::string name) {
  return [this, name = std::move(name)] { send({fmt::format("FDSTOREREMOVE=1\nFDNAME={}", name), {}}); };
}

void FdStore::send(StoreMessage order) {
  if (queue_.size() >= 2 * kMaxWaiting) return;  // the descriptors stay stored until the next start
  queue_.push_back(std::move(order));
  if (queue_.size() > 1) return;  // the pump runs
  if (!send_first()) scope_.spawn(pump());
}

// False: the service manager's socket takes no message now; send again when it is writable.
bool FdStore::send_first() {
  const StoreMessage& order = queue_.front();
  iovec text{const_cast<char*>(order.text.data()), order.text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (!order.descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(order.descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(order.descriptors.size() * sizeof(int));
    auto* out = CMSG_DATA(header);
    for (const Fd& fd : order.descriptors) {
      const int number = fd.get();
      std::memcpy(out, &number, sizeof number);
      out += sizeof number;
    }
  }
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS)) return false;
  queue_.pop_front();  // sent, or lost because there is no service manager any more
  return true;
}

Task<> FdStore::pump() {
  while (!queue_.empty()) {
    co_await socket_.writable();
    while (!queue_.empty() && send_first()) {
    }
  }
  if (empty_) empty_->fire();
}

Task<> FdStore::flushed() {
  if (queue_.empty()) co_return;
  empty_ = std::make_shared<Event>();
  std::shared_ptr<Event> empty = empty_;
  co_await *empty;
}
