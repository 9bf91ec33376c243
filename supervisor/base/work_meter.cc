#include "supervisor/base/work_meter.h"

#include <fmt/format.h>
#include <time.h>

std::chrono::nanoseconds thread_time() {
  struct timespec now {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

WorkMeter bounded_work(std::chrono::nanoseconds limit) { return WorkMeter(limit); }

void WorkMeter::begin() {
  ends_at_ = thread_time() + limit_;
  remaining_steps_ = kStepsPerCheck;
}

bool WorkMeter::inspect() {
  if (ends_at_ < std::chrono::nanoseconds(0)) begin();
  remaining_steps_ = kStepsPerCheck;
  over_ = over_ || cancelled_.load(std::memory_order_relaxed) || ended_early_.load(std::memory_order_relaxed) ||
          thread_time() >= ends_at_;
  if (over_) remaining_steps_ = 0;
  return !over_;
}

Error WorkMeter::error() const {
  if (cancelled_.load(std::memory_order_relaxed))
    return {Code::unavailable, 0, "the work on this data was cancelled", "try again", {}};
  if (ended_early_.load(std::memory_order_relaxed))
    return {Code::exhausted,
            0,
            "the work on this data takes long, and much other work waits",
            "send less data, or try again later",
            {}};
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(limit_);
  return {Code::exhausted,
          0,
          fmt::format("the work on this data took more than {} ms of processor time", limit.count()),
          "send less data, or data of a simpler form",
          {}};
}
