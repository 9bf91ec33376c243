// RequestClock: how long a request may still take. Stands still while a person is asked on its behalf. Source: Client.
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

  // `late` is called once, from the loop, when `limit` has passed; unless it is kForever.
  RequestClock(Loop& loop, std::chrono::milliseconds limit, std::function<void()> late)
      : loop_(loop), left_(limit), late_(std::move(late)) {
    run();
  }
  RequestClock(const RequestClock&) = delete;

  // Once for each release(): it goes on after the last.
  void hold() {
    if (holds_++ > 0 || left_ == kForever) return;
    deadline_ = Deadline();
    const auto ran = std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now() - running_since_);
    left_ = std::max(left_ - ran, std::chrono::milliseconds(1));
  }
  void release() {
    if (--holds_ == 0) run();
  }

 private:
  void run() {
    if (left_ == kForever) return;
    running_since_ = Monotonic::now();
    deadline_ = Deadline(loop_, left_, late_);
  }

  Loop& loop_;
  std::chrono::milliseconds left_;
  std::function<void()> late_;
  unsigned holds_ = 0;
  Monotonic::time_point running_since_;
  Deadline deadline_;
};

}  // namespace upstream
