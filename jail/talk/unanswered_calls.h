// UnansweredCalls: the number of bytes of the calls that a program has made and that have no answer yet. Each call
// holds its arguments until then. If a program has too many bytes waiting, its next messages are not read until some
// calls are answered.
// Used by: jail/execution/running_execution.cc, one for each execution. No errors.
#pragma once
#include <memory>
#include <utility>

#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"

namespace jail {

class UnansweredCalls {
 public:
  static constexpr size_t kMaxBytes = 16 << 20;  // without the newest call

  // The loop must outlive this object.
  explicit UnansweredCalls(Loop& loop) : loop_(loop) {}

  // One call, from its arrival to its answer.
  class PendingCall {
   public:
    PendingCall(UnansweredCalls& all, size_t bytes) : all_(all), bytes_(bytes) { all_.bytes_ += bytes_; }
    ~PendingCall() {
      all_.bytes_ -= bytes_;
      if (all_.bytes_ <= kMaxBytes) all_.wake();
    }
    PendingCall(const PendingCall&) = delete;

   private:
    UnansweredCalls& all_;
    size_t bytes_;
  };

  // Waits until the unanswered calls hold at most kMaxBytes. One waiter at a time.
  Task<> room() {
    while (bytes_ > kMaxBytes && waits_) {
      room_ = std::make_shared<Event>();
      std::shared_ptr<Event> room = room_;
      co_await *room;
    }
  }
  // No further answer will come: room() returns at once.
  void stop_waiting() {
    waits_ = false;
    wake();
  }

 private:
  // Fires in a later turn, because the task of an answer is on the stack now.
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
