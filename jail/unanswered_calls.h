// UnansweredCalls: how many bytes the calls have that code has made and that are not answered yet. Each holds its
// arguments meanwhile; so whoever makes many large ones is not heard until some are answered.
// Used by: execution.cc, one for each execution.
#pragma once
#include <memory>
#include <utility>

#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"

namespace jail {

class UnansweredCalls {
 public:
  static constexpr size_t kMostBytes = 16 << 20;  // beside the newest one

  // The loop must outlive it.
  explicit UnansweredCalls(Loop& loop) : loop_(loop) {}

  // A call, from its arrival to its answer.
  class One {
   public:
    One(UnansweredCalls& all, size_t bytes) : all_(all), bytes_(bytes) { all_.bytes_ += bytes_; }
    ~One() {
      all_.bytes_ -= bytes_;
      if (all_.bytes_ <= kMostBytes) all_.wake();
    }
    One(const One&) = delete;

   private:
    UnansweredCalls& all_;
    size_t bytes_;
  };

  // Waits until they have no more than kMostBytes. One waiter at a time.
  Task<> room() {
    while (bytes_ > kMostBytes && waits_) {
      room_ = std::make_shared<Event>();
      std::shared_ptr<Event> room = room_;
      co_await *room;
    }
  }
  // Nobody will answer any more: room() waits for nothing.
  void stop_waiting() {
    waits_ = false;
    wake();
  }

 private:
  // In a later turn: the task of an answer is on the stack.
  void wake() {
    if (!room_) return;
    loop_.defer([room = std::exchange(room_, nullptr)] { room->fire(); });
  }

  Loop& loop_;
  size_t bytes_ = 0;
  std::shared_ptr<Event> room_;
  bool waits_ = true;
};

}  // namespace jail
