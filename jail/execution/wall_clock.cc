#include "jail/execution/wall_clock.h"

#include <algorithm>

#include "supervisor/base/log.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kMaxFrozen = 1h;     // at a time: a frozen program holds its tenant's slot and memory
constexpr double kPunctualMs = 10;  // if the deadline is later than this, the loop was busy or stopped
// One turn reads up to half a megabyte of a message. All turns together suffice to parse the largest message.
constexpr auto kTurn = 5ms;
constexpr int kTurnsToRead = 30;

}  // namespace

void WallClock::start() {
  started_at_ = Monotonic::now();
  await_limit();
}

void WallClock::stop() {
  stopped_ = true;
  deadline_ = Deadline();
}

void WallClock::limit_changed() {
  if (started() && !stands_still()) await_limit();
}

Result<> WallClock::freeze() {
  if (frozen_) return {};
  if (!stands_still()) CHECKED(jail_.cgroup().freeze());
  frozen_ = true;
  deadline_ = Deadline(loop_, kMaxFrozen, [this] { callbacks_.too_old(); });
  stand_still();
  return {};
}

Result<> WallClock::thaw() {
  if (!frozen_ && holds_ > 0)
    return fail(Code::unavailable, "it waits for the approval of a call", "warder approvals lists the waiting calls");
  if (!frozen_) return {};
  if (holds_ == 0) CHECKED(jail_.cgroup().thaw());
  frozen_ = false;
  deadline_ = Deadline();
  if (holds_ == 0) go_on();
  return {};
}

void WallClock::hold() {
  if (holds_++ > 0 || stands_still()) return;
  if (jail_.cgroup()) {
    if (auto done = jail_.cgroup().freeze(); !done)
      return log_warning("a program cannot be frozen, and its time runs on: {}", done.error().what);
  } else {
    held_cpu_from_us_.reset();
  }
  deadline_ = Deadline();  // the caller of hold() limits the time
  stand_still();
}

void WallClock::release() {
  if (holds_ == 0 || --holds_ > 0 || frozen_ || !stands_still()) return;
  if (jail_.cgroup()) {
    if (auto done = jail_.cgroup().thaw(); !done) {
      log_error("a program is ended, because it cannot be thawed: {}", done.error().what);
      return callbacks_.too_old();
    }
  }
  go_on();
}

void WallClock::let_go() {
  if (!stands_still()) return;
  frozen_ = false;
  holds_ = 1;
  release();
}

double WallClock::ran_ms() const {
  if (!started_at_) return 0;
  const auto until = still_since_.value_or(Monotonic::now()) + held_cpu_;
  return std::chrono::duration<double, std::milli>(until - *started_at_).count();
}

void WallClock::inspect(uint64_t tree_cpu_us) {
  if (!stands_still() || jail_.cgroup()) return;
  if (!held_cpu_from_us_) held_cpu_from_us_ = tree_cpu_us;
  held_cpu_ = std::chrono::microseconds(tree_cpu_us - std::min(tree_cpu_us, *held_cpu_from_us_));
  if (ran_ms() > static_cast<double>(limit_.count())) callbacks_.late();
}

void WallClock::stand_still() {
  if (!still_since_) still_since_ = Monotonic::now();
  callbacks_.changed();
}

void WallClock::go_on() {
  *started_at_ += Monotonic::now() - *std::exchange(still_since_, std::nullopt) - held_cpu_;
  held_cpu_ = {};
  await_limit();
  callbacks_.changed();
}

void WallClock::await_limit() {
  if (stopped_) return;
  const auto remaining = limit_ - std::chrono::milliseconds(static_cast<int64_t>(ran_ms()));
  due_ms_ = std::max(ran_ms(), static_cast<double>(limit_.count()));
  deadline_ = Deadline(loop_, std::max(remaining, 0ms), [this] { reach_limit(); });
}

// Timers run before sockets are read: a delayed loop sees the limit before it sees the answer.
void WallClock::reach_limit() { give_turns(ran_ms() > due_ms_ + kPunctualMs ? kTurnsToRead : 0); }

void WallClock::give_turns(int remaining) {
  if (remaining == 0) return callbacks_.late();
  deadline_ = Deadline(loop_, kTurn, [this, remaining] { give_turns(remaining - 1); });
}

}  // namespace jail
