// Unread answers: memory of answers that are made and that their clients have not read, counted by connection, by user
// and in all. A user is over its bound with `account_bytes`; while all users together have `daemon_bytes`, also with an
// even share of that. Nothing is begun for a user who is over (Connection asks); other users go on, and what was begun
// is answered.
// Who does not read holds up only other connections of the same user. Of those, whoever has read gets room first: room
// that a reader makes is its own. And nobody is held up for ever: when none of them got room for `patience`, the
// connection with the most unread bytes is given up. So it is at twice a bound, at once: what was begun before may
// answer with more.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "supervisor/base/loop.h"

namespace mcp {

struct UnreadLimits {
  size_t account_bytes = 128 << 20;  // of one user
  size_t daemon_bytes = 512 << 20;   // of all
  std::chrono::milliseconds patience{30'000};
};

class UnreadAccount;
class UnreadShare;

// Of the whole daemon.
class UnreadBudget {
 public:
  explicit UnreadBudget(Loop& loop, UnreadLimits limits = {}) : loop_(loop), limits_(limits) {}
  UnreadBudget(const UnreadBudget&) = delete;
  UnreadBudget& operator=(const UnreadBudget&) = delete;
  size_t bytes() const { return bytes_; }
  void set_limits(UnreadLimits limits) { limits_ = limits; }

 private:
  friend class UnreadAccount;
  friend class UnreadShare;
  void look_soon();
  void look();
  Loop& loop_;
  UnreadLimits limits_;
  size_t bytes_ = 0;
  std::set<UnreadAccount*> accounts_;  // with something unread, or with somebody who waits for room
  size_t holders_ = 0;                 // of those, with something unread
  std::shared_ptr<bool> looking_;      // while a look is due
};

// Of one user. Owned by the user's connections, by shared_ptr.
class UnreadAccount : public std::enable_shared_from_this<UnreadAccount> {
 public:
  explicit UnreadAccount(std::shared_ptr<UnreadBudget> budget) : budget_(std::move(budget)) {}
  ~UnreadAccount();
  UnreadAccount(const UnreadAccount&) = delete;
  UnreadAccount& operator=(const UnreadAccount&) = delete;

  size_t bytes() const { return bytes_; }
  bool is_over() const;

 private:
  friend class UnreadBudget;
  friend class UnreadShare;
  void change(size_t before, size_t after);
  void wake();
  void line_up(UnreadShare& share);
  void leave_line(UnreadShare& share);
  UnreadShare* next_in_line();  // nullptr: nobody waits. Forgets those that are gone
  void start_patience();
  void give_up_largest();
  bool is_far_over() const;
  void keep_listed();

  std::shared_ptr<UnreadBudget> budget_;
  size_t bytes_ = 0;
  std::set<UnreadShare*> shares_;
  using Place = std::pair<bool, uint64_t>;  // false: of one that has read; the number of its arrival
  std::map<Place, UnreadShare*> line_;      // with somebody who waits for room
  uint64_t arrivals_ = 0;
  Deadline patience_;
};

// What one connection, or one answer that is not with its connection yet, has of its user's account.
class UnreadShare {
 public:
  // `give_up` frees what this share stands for, and sets it to 0; called from a turn of the loop of its own. Empty: it
  // cannot be given up.
  explicit UnreadShare(std::shared_ptr<UnreadAccount> account, std::function<void()> give_up = {});
  ~UnreadShare();
  UnreadShare(const UnreadShare&) = delete;
  UnreadShare& operator=(const UnreadShare&) = delete;
  void set(size_t bytes);
  size_t bytes() const { return bytes_; }
  // Fires `room` once when the user is not over any more, unless `room` is gone: in the order of these calls, and of
  // several shares one each in turn, those first that became less since their last turn.
  void wait_for_room(const std::shared_ptr<Event>& room);

 private:
  friend class UnreadAccount;
  std::shared_ptr<UnreadAccount> account_;
  std::function<void()> give_up_;
  size_t bytes_ = 0;
  std::deque<std::weak_ptr<Event>> waiting_;
  std::optional<std::pair<bool, uint64_t>> place_;  // in its account's line, while somebody waits
  bool has_read_ = false;                           // became less since its last turn
};

}  // namespace mcp
