// RequestClock: the time that a request may still take. It stops while a person is asked for the request.
// Used by: client.cc, server_questions.cc.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"

namespace upstream {

class RequestClock {
 public:
  static constexpr auto kForever = std::chrono::milliseconds::max();

  // `late` is called once, from the loop, when `limit` has passed. With kForever it is never called.
  RequestClock(Loop& loop, std::chrono::milliseconds limit, std::function<void()> late)
      : loop_(loop), remaining_(limit), late_(std::move(late)) {
    run();
  }
  RequestClock(const RequestClock&) = delete;

  // Each hold() needs one release(). The clock runs again after the last release().
  void hold() {
    if (holds_++ > 0 || remaining_ == kForever) return;
    deadline_ = Deadline();
    const auto ran = std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now() - running_since_);
    remaining_ = std::max(remaining_ - ran, std::chrono::milliseconds(1));
  }
  void release() {
    if (--holds_ == 0) run();
  }

 private:
  void run() {
    if (remaining_ == kForever) return;
    running_since_ = Monotonic::now();
    deadline_ = Deadline(loop_, remaining_, late_);
  }

  Loop& loop_;
  std::chrono::milliseconds remaining_;
  std::function<void()> late_;
  unsigned holds_ = 0;
  Monotonic::time_point running_since_;
  Deadline deadline_;
};

}  // namespace upstream
