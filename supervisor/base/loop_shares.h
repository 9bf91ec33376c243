// LoopShares: how much of the loop's time each owner's messages may take while somebody else wants some.
// One loop reads the messages of every user and of every jail. Who sends without end would have its next message read
// as soon as its last one is done, and everybody else would wait behind both. An owner is one user at the sockets, one
// tenant's programs and its own upstream servers, or an upstream server that all tenants share. Its messages take at
// most kTurn of one turn of the loop (one message more, as none is left in the middle). While others want the loop, it
// may have a part of all time: 1/3, or where several keep the loop busy, 1/4 each for two, 1/12 each for ten. Who has
// had its part waits; nobody else does. An owner that is alone has as much as it can use. Used by: supervisor/mcp
// (connections), jail (what programs ask for), supervisor/upstream (what upstream servers say).
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

// The owners of one loop, and who of them wants it.
struct LoopOwners;

class LoopShare {
 public:
  // For LoopShares::of().
  LoopShare(std::shared_ptr<LoopOwners> all, std::string name);
  ~LoopShare();
  LoopShare(const LoopShare&) = delete;

  // Its next message has to wait: for turn().
  bool is_used_up();
  // Waits for a later turn of the loop in which this owner may do more; first come, first served. May be cancelled.
  Task<> turn();
  size_t waiting() const { return waiting_.size(); }

  // What is done while one lives is charged to the owner. Not over a co_await, and not within another of the same
  // owner.
  class Use {
   public:
    explicit Use(LoopShare& share);
    ~Use();
    Use(const Use&) = delete;

   private:
    LoopShare& share_;
    Monotonic::time_point began_;
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
  uint64_t turn_ = 0;                     // of the loop, in which that was spent
  Monotonic::time_point used_at_{};       // the last time
  Monotonic::time_point held_back_at_{};  // the last time that it asked for more than its part
  Span used_since_look_{0};
  double load_ = 0;  // the part of the loop's time that it has lately used
  std::list<LoopShare*>::iterator place_;
  std::deque<std::weak_ptr<Event>> waiting_;
  bool wakes_ = false;   // wake() will be called
  bool waking_ = false;  // it is: who is woken goes before all others of the owner's
  Deadline refilled_;
  std::shared_ptr<LoopShare*> self_;  // for callbacks that may come after us
};

class LoopShares {
 public:
  using Clock = Monotonic::time_point (*)();
  static constexpr std::chrono::microseconds kTurn{500};
  static constexpr std::chrono::milliseconds kBurst{20};      // what an owner may have at once that has used nothing
  static constexpr std::chrono::milliseconds kRecently{100};  // who used the loop since wants it still

  // The loop must outlive every use of a share.
  explicit LoopShares(Loop& loop, Clock clock = &Monotonic::now);

  // The owner's; one for all who ask by the same name.
  std::shared_ptr<LoopShare> of(const std::string& owner);

 private:
  std::shared_ptr<LoopOwners> owners_;
};
