// Outbox: the one writer of a connection. Lines go out in the order of send(), at once when the socket takes them,
// else when it does. Bounded in bytes: full() asks the connection to read no more; beyond the hard limit, or when
// the client takes nothing for too long, the outbox breaks.
// Its callbacks come from a turn of the loop of their own, never from inside send().
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/loop.h"
#include "supervisor/mcp/unread.h"

namespace mcp {

struct OutboxLimits {
  size_t full_bytes = 8 << 20;
  size_t hard_bytes = 64 << 20;
  std::chrono::milliseconds slow_reader{30'000};  // without a byte taken
};

class Outbox {
 public:
  // `socket` must outlive the outbox. on_room: what was full has room again, or all has been written.
  // on_broken: nothing can be written any more; once.
  Outbox(Loop& loop, AsyncFd& socket, OutboxLimits limits, std::function<void()> on_room,
         std::function<void()> on_broken);
  ~Outbox() { close(); }
  // From now on what waits here counts as that user's. `given_up`: told the bytes when the account gives this up, just
  // before it breaks.
  void charge(std::shared_ptr<UnreadAccount> account, std::function<void(size_t bytes)> given_up);

  // Queues `line` and its newline; dropped when broken.
  void send(std::string line);
  // The same of a line in three parts, the second of which may be large and is not copied.
  void send(std::string begin, std::shared_ptr<const std::string> middle, std::string_view end);
  // Nothing is written while a Cork lives: a read's worth of small answers leaves in one system call.
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
  // UnreadShare::wait_for_room(), after charge().
  void wait_for_room(const std::shared_ptr<Event>& room) { unread_->wait_for_room(room); }
  // Forgets what is queued and calls nobody any more.
  void close();

 private:
  // Bytes that wait: its own, or somebody's.
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;
    std::string_view bytes() const { return shared ? *shared : own; }
  };
  void add(std::string bytes);
  void added();
  void flush();
  void write();                  // as much as one turn of the loop may take
  bool write_some(size_t most);  // false: the socket takes no more now, or it broke
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
  std::deque<Piece> queue_;
  size_t head_sent_ = 0;  // bytes of queue_.front() that are out
  size_t bytes_ = 0;
  int corks_ = 0;
  bool was_full_ = false;
  bool broken_ = false;
  bool pumping_ = false;
  Deadline slow_reader_;
  std::shared_ptr<Outbox*> self_;  // for callbacks that may come after us
  std::optional<Task<>> pump_;
};

}  // namespace mcp
