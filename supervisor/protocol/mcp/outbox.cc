#include "supervisor/protocol/mcp/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mcp {

namespace {
constexpr size_t kJoinBytes = 16 << 10;   // small lines share a buffer of up to this size
constexpr size_t kMaxParts = 16;          // buffers in one sendmsg()
constexpr size_t kTurnBytes = 512 << 10;  // most bytes written in one turn of the loop, even to a fast reader
}  // namespace

Outbox::Outbox(Loop& loop, AsyncFd& socket, OutboxLimits limits, std::function<void()> on_room,
               std::function<void()> on_broken)
    : loop_(loop),
      socket_(socket),
      limits_(limits),
      on_room_(std::move(on_room)),
      on_broken_(std::move(on_broken)),
      self_(std::make_shared<Outbox*>(this)) {}

void Outbox::charge(std::shared_ptr<UnreadAccount> account, std::function<void(size_t bytes)> abandoned) {
  unread_.emplace(std::move(account), [this, abandoned = std::move(abandoned)] {
    abandoned(bytes_);
    break_down();
  });
}

// Counts a line that was written in part with its full size, because its memory is still in use.
void Outbox::count() {
  if (unread_) unread_->set(bytes_ + head_sent_);
}

void Outbox::send(std::string line) {
  line += '\n';
  send_bytes(std::move(line));
}

void Outbox::send_bytes(std::string bytes) {
  if (broken_) return;
  add(std::move(bytes));
  added();
}

void Outbox::send(std::string begin, std::shared_ptr<const std::string> middle, std::string_view end) {
  if (broken_) return;
  if (middle->size() <= kJoinBytes) return send(std::move(begin.append(*middle).append(end)));
  add(std::move(begin));
  bytes_ += middle->size();
  queue_.push_back({{}, std::move(middle)});
  add(std::string(end) + '\n');
  added();
}

void Outbox::add(std::string bytes) {
  bytes_ += bytes.size();
  if (!queue_.empty() && !queue_.back().shared && queue_.back().own.size() + bytes.size() <= kJoinBytes) {
    queue_.back().own += bytes;
  } else {
    queue_.push_back({std::move(bytes), nullptr});
  }
}

void Outbox::added() {
  if (full()) was_full_ = true;
  if (bytes_ > limits_.hard_bytes) {
    break_down();
  } else if (corks_ == 0) {
    flush();
  }
}

// What the socket takes at once is never counted as unread: its client has not shown that it reads.
void Outbox::flush() {
  if (pumping_) return count();
  if (broken_ || queue_.empty()) return;
  write();
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
    write();
    count();
  }
  pumping_ = false;
}

void Outbox::write() {
  const size_t waiting = bytes_;
  while (!queue_.empty() && waiting - bytes_ < kTurnBytes && write_some(kTurnBytes - (waiting - bytes_))) {
  }
}

bool Outbox::write_some(size_t max) {
  std::array<iovec, kMaxParts> parts;
  size_t count = 0;
  for (const Piece& piece : queue_) {
    if (count == kMaxParts || max == 0) break;
    const std::string_view rest = piece.bytes().substr(count == 0 ? head_sent_ : 0, max);
    max -= rest.size();
    parts[count++] = {const_cast<char*>(rest.data()), rest.size()};  // sendmsg(2) only reads them
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
  if (unread_ && pumping_) unread_->note_read(sent);
  bytes_ -= sent;
  head_sent_ += sent;
  while (!queue_.empty() && head_sent_ >= queue_.front().bytes().size()) {
    head_sent_ -= queue_.front().bytes().size();
    queue_.pop_front();
  }
  if (queue_.empty()) {
    slow_reader_ = {};
  } else if (pumping_) {
    watch_reader();
  }
  // A caller of send() can see a write that happens at once; the callback reports later writes.
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
