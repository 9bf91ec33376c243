// UnreadBudget, UnreadAccount, UnreadShare: memory of answers that were made and that clients have not read, counted
// for the daemon, for each user and for each connection. Used by: Conversation, Outbox. No errors.
// A user is over the limit with `account_bytes` of unread answers. While all users together have `daemon_bytes`, a user
// is also over with an even share of `daemon_bytes`. No new request starts for a user over the limit. Other
// users are not affected, and requests that run are answered.
// A client that does not read delays only other connections of the same user. Among these, a connection that has read
// since its last answer gets room first, and a quarter of each limit is kept for such connections: the others may have
// taken the room that it made. No connection waits for ever: when no waiting request got room for `patience`, the
// connection with the most unread bytes is given up. At more than twice a limit, the connection is given up at once;
// requests that already run can make that much.
#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "supervisor/base/loop.h"

namespace mcp {

struct UnreadLimits {
  size_t account_bytes = 128 << 20;  // for one user
  size_t daemon_bytes = 512 << 20;   // for all users together
  std::chrono::milliseconds patience{30'000};
};

class UnreadAccount;
class UnreadShare;

// The unread answers of the whole daemon.
class UnreadBudget {
 public:
  explicit UnreadBudget(Loop& loop, UnreadLimits limits = {}) : loop_(loop), limits_(limits) {}
  UnreadBudget(const UnreadBudget&) = delete;
  UnreadBudget& operator=(const UnreadBudget&) = delete;
  size_t bytes() const { return bytes_; }
  // Bytes that sockets have taken, since the start, of answers that they did not take at once.
  uint64_t late_bytes_read() const { return late_bytes_read_; }
  void set_limits(UnreadLimits limits) { limits_ = limits; }

 private:
  friend class UnreadAccount;
  friend class UnreadShare;
  void check_soon();
  void inspect();
  Loop& loop_;
  UnreadLimits limits_;
  size_t bytes_ = 0;
  uint64_t late_bytes_read_ = 0;
  std::set<UnreadAccount*> accounts_;  // accounts with unread bytes, or with requests that wait for room
  size_t holders_ = 0;                 // accounts with unread bytes
  std::shared_ptr<bool> looking_;      // set while a call of inspect() is due
};

// The unread answers of one user. Owned by the user's connections, by shared_ptr.
class UnreadAccount : public std::enable_shared_from_this<UnreadAccount> {
 public:
  explicit UnreadAccount(std::shared_ptr<UnreadBudget> budget) : budget_(std::move(budget)) {}
  ~UnreadAccount();
  UnreadAccount(const UnreadAccount&) = delete;
  UnreadAccount& operator=(const UnreadAccount&) = delete;

  size_t bytes() const { return bytes_; }
  bool is_over() const { return is_over(1.0); }

 private:
  friend class UnreadBudget;
  friend class UnreadShare;
  bool is_over(double limits) const;  // `limits`: this many times the limits
  void change(size_t before, size_t after);
  void wake();
  void line_up(UnreadShare& share);
  void leave_line(UnreadShare& share);
  UnreadShare* next_in_line();  // nullptr: no share waits. Removes shares with no live waiter
  void start_patience();
  void give_up_largest();
  bool is_far_over() const;
  void keep_listed();

  std::shared_ptr<UnreadBudget> budget_;
  size_t bytes_ = 0;
  std::set<UnreadShare*> shares_;
  using QueuePosition = std::pair<bool, uint64_t>;  // false if the share has read; then the number of its arrival
  std::map<QueuePosition, UnreadShare*> line_;      // shares that wait for room
  uint64_t arrivals_ = 0;
  Deadline patience_;
};

// The part of a user's account that belongs to one connection, or to one answer that its connection does not have yet.
class UnreadShare {
 public:
  // `give_up` frees the memory that this share counts, and sets the share to 0; it is called from a later turn of the
  // loop. Empty: the share cannot be given up.
  explicit UnreadShare(std::shared_ptr<UnreadAccount> account, std::function<void()> give_up = {});
  ~UnreadShare();
  UnreadShare(const UnreadShare&) = delete;
  UnreadShare& operator=(const UnreadShare&) = delete;
  void set(size_t bytes);
  // Notes that the client has read a part, which counts in bytes() until it has read the whole line.
  void note_read(size_t bytes) { account_->budget_->late_bytes_read_ += bytes; }
  size_t bytes() const { return bytes_; }
  // Whether a new request of this share's connection must wait, because the user has too many unread answers.
  bool is_over() const { return account_->is_over(has_read_ ? kLimitsOfReaders : 1.0); }
  // Fires `room` once when is_over() is false, unless `room` was destroyed. Events of one share fire in the order of
  // these calls. Several shares take turns, one event each; a share that became smaller since it last grew goes first.
  void wait_for_room(const std::shared_ptr<Event>& room);

 private:
  friend class UnreadAccount;
  static constexpr double kLimitsOfReaders = 1.25;
  std::shared_ptr<UnreadAccount> account_;
  std::function<void()> give_up_;
  size_t bytes_ = 0;
  std::list<std::weak_ptr<Event>> waiting_;                  // mostly empty: an empty deque holds half a KiB
  std::optional<std::pair<bool, uint64_t>> queue_position_;  // in its account's line, while an event waits
  bool has_read_ = false;                                    // became less since it last became more
};

}  // namespace mcp
