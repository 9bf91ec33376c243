#include "supervisor/mcp/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mcp {

namespace {
constexpr size_t kJoinBytes = 16 << 10;  // small lines share a buffer up to here
constexpr size_t kMostParts = 16;        // of one sendmsg()
}  // namespace

Outbox::Outbox(Loop& loop, AsyncFd& socket, OutboxLimits limits, std::function<void()> on_room,
               std::function<void()> on_broken)
    : loop_(loop),
      socket_(socket),
      limits_(limits),
      on_room_(std::move(on_room)),
      on_broken_(std::move(on_broken)),
      self_(std::make_shared<Outbox*>(this)) {}

void Outbox::charge(std::shared_ptr<UnreadAccount> account, std::function<void(size_t bytes)> given_up) {
  unread_.emplace(std::move(account), [this, given_up = std::move(given_up)] {
    given_up(bytes_);
    break_down();
  });
}

// A line of which a part is out is still held as a whole.
void Outbox::count() {
  if (unread_) unread_->set(bytes_ + head_sent_);
}

void Outbox::send(std::string line) {
  if (broken_) return;
  line += '\n';
  bytes_ += line.size();
  if (!queue_.empty() && queue_.back().size() + line.size() <= kJoinBytes) {
    queue_.back() += line;
  } else {
    queue_.push_back(std::move(line));
  }
  if (full()) was_full_ = true;
  if (bytes_ > limits_.hard_bytes) {
    break_down();
  } else if (corks_ == 0) {
    flush();
  }
  count();
}

void Outbox::flush() {
  if (pumping_ || broken_ || queue_.empty()) return;
  while (!queue_.empty() && write_some()) {
  }
  count();
  if (queue_.empty() || broken_) return;
  watch_reader();
  pumping_ = true;
  pump_.emplace(pump());
  pump_->resume();
}

Task<> Outbox::pump() {
  while (!queue_.empty() && !broken_) {
    co_await socket_.writable();
    while (!queue_.empty() && write_some()) {
    }
    count();
  }
  pumping_ = false;
}

bool Outbox::write_some() {
  std::array<iovec, kMostParts> parts;
  size_t count = 0;
  for (auto& line : queue_) {
    if (count == kMostParts) break;
    const size_t skip = count == 0 ? head_sent_ : 0;
    parts[count++] = {line.data() + skip, line.size() - skip};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    took(static_cast<size_t>(sent));
    return true;
  }
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) break_down();
  return false;
}

void Outbox::took(size_t sent) {
  bytes_ -= sent;
  head_sent_ += sent;
  while (!queue_.empty() && head_sent_ >= queue_.front().size()) {
    head_sent_ -= queue_.front().size();
    queue_.pop_front();
  }
  if (queue_.empty()) {
    slow_reader_ = {};
  } else if (pumping_) {
    watch_reader();
  }
  // Who sends sees at once what left at once; the rest is news.
  if (pumping_ && (queue_.empty() || (was_full_ && bytes_ < limits_.full_bytes / 2))) {
    was_full_ = false;
    notify(on_room_);
  }
}

void Outbox::watch_reader() {
  slow_reader_ = Deadline(loop_, limits_.slow_reader, [this] { break_down(); });
}

void Outbox::break_down() {
  if (broken_) return;
  broken_ = true;
  queue_.clear();
  bytes_ = head_sent_ = 0;
  count();
  slow_reader_ = {};
  notify(on_broken_);
}

void Outbox::notify(std::function<void()>& callback) {
  loop_.defer([self = std::weak_ptr<Outbox*>(self_), &callback] {
    if (self.lock()) callback();
  });
}

void Outbox::close() {
  self_.reset();
  broken_ = true;
  queue_.clear();
  bytes_ = head_sent_ = 0;
  count();
  slow_reader_ = {};
  pump_.reset();
}

}  // namespace mcp
