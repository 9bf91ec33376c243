#include "supervisor/base/loop_shares.h"

#include <algorithm>

namespace {
constexpr std::chrono::milliseconds kLookEvery{10};
constexpr double kBusyFrom = 1.0 / 16;        // of the loop's time
constexpr double kNewest = 0.3;               // what the newest look counts in a load
constexpr std::chrono::seconds kMostDebt{1};  // for one piece of work that took longer
}  // namespace

LoopShare::LoopShare(LoopShares& all, std::string name)
    : all_(all),
      name_(std::move(name)),
      credit_(LoopShares::kBurst),
      counted_at_(all.clock_()),
      self_(std::make_shared<LoopShare*>(this)) {
  place_ = all_.by_use_.insert(all_.by_use_.end(), this);
}

LoopShare::~LoopShare() {
  all_.by_use_.erase(place_);
  all_.shares_.erase(name_);
}

LoopShare::Use::Use(LoopShare& share) : share_(share), began_(share.all_.clock_()) {}

LoopShare::Use::~Use() {
  const auto now = share_.all_.clock_();
  share_.charge(now - began_, now);
}

void LoopShare::charge(Span spent, Monotonic::time_point now) {
  refill(now);
  credit_ = std::max<Span>(credit_ - spent, -kMostDebt);
  const uint64_t turn = all_.loop_.turn();
  if (turn != turn_) spent_in_turn_ = Span(0);
  turn_ = turn;
  spent_in_turn_ += spent;
  used_at_ = now;
  used_since_look_ += spent;
  all_.by_use_.splice(all_.by_use_.begin(), all_.by_use_, place_);
}

void LoopShare::refill(Monotonic::time_point now) {
  all_.look(now);
  credit_ = std::min<Span>(credit_ + (now - counted_at_) / all_.parts(), LoopShares::kBurst);
  counted_at_ = now;
}

bool LoopShare::is_used_up() {
  if (spent_in_turn_ >= LoopShares::kTurn && turn_ == all_.loop_.turn()) return true;
  const auto now = all_.clock_();
  refill(now);
  if (credit_ > Span(0)) return false;
  if (all_.wanted_by_others(*this, now)) {
    held_back_at_ = now;
    return true;
  }
  credit_ = Span(0);  // what nobody else wanted is no debt
  return false;
}

Task<> LoopShare::turn() {
  auto woken = std::make_shared<Event>();
  waiting_.push_back(woken);
  wake_later();
  co_await *woken;
}

// In the next turn of the loop, or when there is credit again.
void LoopShare::wake_later() {
  if (std::exchange(wakes_, true)) return;
  auto woken = [weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (!self) return;
    (*self)->wakes_ = false;
    (*self)->wake();
  };
  const auto now = all_.clock_();
  refill(now);
  if (credit_ > Span(0) || !all_.wanted_by_others(*this, now)) return all_.loop_.defer(std::move(woken));
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(-credit_ * all_.parts());
  refilled_ = Deadline(all_.loop_, wait, std::move(woken));
}

// One after the other, as long as there is credit: each does some work, and may come to wait once more, as the last.
void LoopShare::wake() {
  const std::weak_ptr<LoopShare*> alive = self_;  // whoever is woken may be the last who needed us
  for (size_t left = waiting_.size(); left > 0 && !is_used_up(); left--) {
    const auto next = waiting_.front().lock();
    waiting_.pop_front();
    if (next) next->fire();
    if (alive.expired()) return;
  }
  if (!waiting_.empty()) wake_later();
}

std::shared_ptr<LoopShare> LoopShares::of(const std::string& owner) {
  std::weak_ptr<LoopShare>& known = shares_[owner];
  auto share = known.lock();
  if (!share) known = share = std::make_shared<LoopShare>(*this, owner);
  return share;
}

void LoopShares::look(Monotonic::time_point now) {
  const double since = std::chrono::duration<double>(now - looked_at_).count();
  if (now - looked_at_ < kLookEvery) return;
  looked_at_ = now;
  busy_ = 0;
  for (LoopShare* share : by_use_) {
    if (now - share->used_at_ > kRecently) break;
    const double used = std::chrono::duration<double>(std::exchange(share->used_since_look_, {})).count();
    share->load_ += kNewest * (used / since - share->load_);
    if (share->load_ > kBusyFrom || now - share->held_back_at_ <= kRecently) busy_++;
  }
}

int64_t LoopShares::parts() const { return static_cast<int64_t>(2 + std::max<size_t>(busy_, 1)); }

bool LoopShares::wanted_by_others(const LoopShare& share, Monotonic::time_point now) const {
  for (const LoopShare* other : by_use_)
    if (other != &share) return now - other->used_at_ <= kRecently;
  return false;
}
