// LoopShares: limits the part of the loop's time that each owner's messages may take while other owners want the loop.
// One loop reads the messages of every user and of every jail. Without a limit, the next message of an owner that sends
// without end would be read right after its last one, and all other owners would wait behind both.
// An owner is one user at the sockets, one tenant's programs and its own upstream servers, or an upstream server that
// all tenants share. The messages of an owner take at most kTurn of one turn of the loop, plus one message, as no
// message is interrupted. While other owners want the loop, an owner may use this part of all time: 1/3; or where
// several owners keep the loop busy, 1/4 each for two, 1/12 each for ten. An owner that has used its part waits; the
// others do not. An owner that is alone may use all the time.
// Used by: supervisor/protocol/mcp (connections), jail (messages of programs), supervisor/upstream (messages of
// upstream servers).
#pragma once
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"

// The owners of one loop, ordered by their last use of the loop.
struct LoopOwners;

class LoopShare {
 public:
  // Only for LoopShares::of().
  LoopShare(std::shared_ptr<LoopOwners> all, std::string name);
  ~LoopShare();
  LoopShare(const LoopShare&) = delete;

  // True if the owner's next message must wait for turn().
  bool is_used_up();
  // Waits for a later turn of the loop in which this owner may do more; first come, first served. May be cancelled.
  Task<> turn();
  size_t waiting() const { return waiting_.size(); }

  // While a Use exists, the time is charged to the owner. Must not live across a co_await, nor within another Use of
  // the same owner.
  class Use {
   public:
    explicit Use(LoopShare& share);
    ~Use();
    Use(const Use&) = delete;

   private:
    LoopShare& share_;
    Monotonic::time_point started_;
  };

 private:
  friend LoopOwners;
  using Span = std::chrono::nanoseconds;
  void charge(Span spent, Monotonic::time_point now);
  void refill(Monotonic::time_point now);
  void wake_later();
  void wake();

  const std::shared_ptr<LoopOwners> all_;
  const std::string name_;
  Span credit_;
  Monotonic::time_point counted_at_;
  Span spent_in_turn_{0};
  uint64_t turn_ = 0;                     // the turn of the loop that spent_in_turn_ belongs to
  Monotonic::time_point used_at_{};       // the last use of the loop
  Monotonic::time_point held_back_at_{};  // the last time that the owner asked for more than its part
  Span used_since_check_{0};
  double load_ = 0;  // the recent part of the loop's time that the owner used, 0 to 1
  std::list<LoopShare*>::iterator position_;
  std::deque<std::weak_ptr<Event>> waiting_;
  bool wakes_ = false;   // wake() will be called
  bool waking_ = false;  // wake() runs: the woken task may work before all waiting ones
  Deadline refilled_;
  std::shared_ptr<LoopShare*> self_;  // for callbacks that may come after this object's end
};

class LoopShares {
 public:
  using Clock = Monotonic::time_point (*)();
  static constexpr std::chrono::microseconds kTurn{500};
  static constexpr std::chrono::milliseconds kBurst{20};      // the credit of an owner that used no time lately
  static constexpr std::chrono::milliseconds kRecently{100};  // an owner that used the loop since then still wants it

  // The loop must outlive every use of a share.
  explicit LoopShares(Loop& loop, Clock clock = &Monotonic::now);

  // The share of one owner. All calls with the same name get the same share.
  std::shared_ptr<LoopShare> of(const std::string& owner);

 private:
  std::shared_ptr<LoopOwners> owners_;
};
