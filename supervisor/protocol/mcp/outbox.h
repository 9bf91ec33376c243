// Outbox: the one writer of a connection. Lines are written in the order of send(): at once, or later when the socket
// has room. Bounded in bytes: while full() is true, the connection reads no more requests. Beyond the hard limit, or
// when the client reads no byte for `slow_reader`, the outbox breaks.
// Callbacks are called from a later turn of the loop, never from inside send().
// Errors: no function fails. After an error of the socket the outbox is broken: it drops all lines and calls on_broken.
#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/unread.h"

namespace mcp {

struct OutboxLimits {
  size_t full_bytes = 8 << 20;
  size_t hard_bytes = 64 << 20;
  std::chrono::milliseconds slow_reader{30'000};  // longest time in which the client reads no byte
};

class Outbox {
 public:
  // `socket` must outlive the outbox. on_room: a full outbox has room again, or all lines have been written.
  // on_broken: no line can be written any more; called once.
  Outbox(Loop& loop, AsyncFd& socket, OutboxLimits limits, std::function<void()> on_room,
         std::function<void()> on_broken);
  ~Outbox() { close(); }
  // Charges the waiting bytes to the user's account from now on. `abandoned` is called with the number of waiting bytes
  // when the account gives this outbox up, just before the outbox breaks.
  void charge(std::shared_ptr<UnreadAccount> account, std::function<void(size_t bytes)> abandoned);

  // Queues `line` and a newline. A broken outbox drops the line.
  void send(std::string line);
  // Queues bytes as they are, for transports without lines.
  void send_bytes(std::string bytes);
  // The same as send() for a line in three parts. `middle` may be large; a large one is not copied.
  void send(std::string begin, std::shared_ptr<const std::string> middle, std::string_view end);
  // While a Cork exists, no line is written: the small answers to one read leave in one system call.
  class Cork {
   public:
    explicit Cork(Outbox& outbox) : outbox_(outbox) { outbox_.corks_++; }
    ~Cork() {
      if (--outbox_.corks_ == 0) outbox_.flush();
    }
    Cork(const Cork&) = delete;
    Cork& operator=(const Cork&) = delete;

   private:
    Outbox& outbox_;
  };

  bool empty() const { return bytes_ == 0; }
  bool full() const { return bytes_ >= limits_.full_bytes; }
  bool broken() const { return broken_; }
  // UnreadShare::is_over() and UnreadShare::wait_for_room(), after charge().
  bool is_over_limit() const { return unread_->is_over(); }
  void wait_for_room(const std::shared_ptr<Event>& room) { unread_->wait_for_room(room); }
  // Drops the queue. No callback is called any more.
  void close();

 private:
  // Bytes in the queue: owned by the outbox, or shared with a caller of send().
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;
    std::string_view bytes() const { return shared ? *shared : own; }
  };
  void add(std::string bytes);
  void added();
  void flush();
  void write();                 // at most the bytes that one turn of the loop may write
  bool write_some(size_t max);  // false: the socket has no room now, or it broke
  void took(size_t bytes);
  void count();
  void break_down();
  void notify(std::function<void()>& callback);
  void watch_reader();
  Task<> pump();

  Loop& loop_;
  AsyncFd& socket_;
  OutboxLimits limits_;
  std::function<void()> on_room_, on_broken_;
  std::optional<UnreadShare> unread_;
  std::list<Piece> queue_;  // most outboxes are empty: an empty deque holds half a KiB
  size_t head_sent_ = 0;    // bytes of queue_.front() that are written
  size_t bytes_ = 0;
  int corks_ = 0;
  bool was_full_ = false;
  bool broken_ = false;
  bool pumping_ = false;
  Deadline slow_reader_;
  std::shared_ptr<Outbox*> self_;  // for callbacks that may run after the destructor
  std::optional<Task<>> pump_;
};

}  // namespace mcp
