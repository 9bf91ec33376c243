#include "supervisor/base/loop_shares.h"

#include <algorithm>

namespace {
constexpr std::chrono::milliseconds kCheckInterval{10};
constexpr double kBusyFrom = 1.0 / 16;       // an owner that uses more than this part of the loop's time is busy
constexpr double kNewest = 0.3;              // weight of the newest look in an owner's load
constexpr std::chrono::seconds kMaxDebt{1};  // for one piece of work that took longer than this
}  // namespace

struct LoopOwners {
  void inspect(Monotonic::time_point now);
  int64_t parts() const;  // the loop's time is divided into this many parts; an owner may have one
  bool wanted_by_peers(const LoopShare& share, Monotonic::time_point now) const;

  Loop& loop;
  LoopShares::Clock clock;
  std::map<std::string, std::weak_ptr<LoopShare>, std::less<>> shares = {};
  std::list<LoopShare*> by_use = {};  // the owner that used the loop last comes first
  Monotonic::time_point last_checked = {};
  size_t busy = 0;  // owners that use much of the loop, or asked for more than their part
};

LoopShare::LoopShare(std::shared_ptr<LoopOwners> all, std::string name)
    : all_(std::move(all)),
      name_(std::move(name)),
      credit_(LoopShares::kBurst),
      counted_at_(all_->clock()),
      self_(std::make_shared<LoopShare*>(this)) {
  position_ = all_->by_use.insert(all_->by_use.end(), this);
}

LoopShare::~LoopShare() {
  all_->by_use.erase(position_);
  all_->shares.erase(name_);
}

LoopShare::Use::Use(LoopShare& share) : share_(share), started_(share.all_->clock()) {}

LoopShare::Use::~Use() {
  const auto now = share_.all_->clock();
  share_.charge(now - started_, now);
}

void LoopShare::charge(Span spent, Monotonic::time_point now) {
  refill(now);
  credit_ = std::max<Span>(credit_ - spent, -kMaxDebt);
  const uint64_t turn = all_->loop.turn();
  if (turn != turn_) spent_in_turn_ = Span(0);
  turn_ = turn;
  spent_in_turn_ += spent;
  used_at_ = now;
  used_since_check_ += spent;
  all_->by_use.splice(all_->by_use.begin(), all_->by_use, position_);
}

void LoopShare::refill(Monotonic::time_point now) {
  all_->inspect(now);
  credit_ = std::min<Span>(credit_ + (now - counted_at_) / all_->parts(), LoopShares::kBurst);
  counted_at_ = now;
}

bool LoopShare::is_used_up() {
  if (!waiting_.empty() && !waking_) return true;
  if (spent_in_turn_ >= LoopShares::kTurn && turn_ == all_->loop.turn()) return true;
  const auto now = all_->clock();
  refill(now);
  if (credit_ > Span(0)) return false;
  if (all_->wanted_by_peers(*this, now)) {
    held_back_at_ = now;
    return true;
  }
  credit_ = Span(0);  // time that no other owner wanted is not charged as a debt
  return false;
}

Task<> LoopShare::turn() {
  auto woken = std::make_shared<Event>();
  waiting_.push_back(woken);
  wake_later();
  co_await *woken;
}

// Calls wake() in the next turn of the loop, or when there is credit again.
void LoopShare::wake_later() {
  if (std::exchange(wakes_, true)) return;
  auto woken = [weak = std::weak_ptr(self_)] {
    LoopShare* share = nullptr;
    if (const auto self = weak.lock()) share = *self;
    if (!share) return;
    share->wakes_ = false;
    share->wake();
  };
  const auto now = all_->clock();
  refill(now);
  if (credit_ > Span(0) || !all_->wanted_by_peers(*this, now)) return all_->loop.defer(std::move(woken));
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(-credit_ * all_->parts());
  refilled_ = Deadline(all_->loop, wait, std::move(woken));
}

// Wakes the waiting tasks one after the other, as long as there is credit. A woken task does some work, and may wait
// again at the end of the queue.
void LoopShare::wake() {
  const std::weak_ptr<LoopShare*> alive = self_;  // a woken task may release the last reference to this share
  waking_ = true;
  for (size_t remaining = waiting_.size(); remaining > 0 && !is_used_up(); remaining--) {
    const auto next = waiting_.front().lock();
    waiting_.pop_front();
    if (next) next->fire();
    if (alive.expired()) return;
  }
  waking_ = false;
  if (!waiting_.empty()) wake_later();
}

LoopShares::LoopShares(Loop& loop, Clock clock) : owners_(new LoopOwners{.loop = loop, .clock = clock}) {}

std::shared_ptr<LoopShare> LoopShares::of(const std::string& owner) {
  std::weak_ptr<LoopShare>& existing = owners_->shares[owner];
  auto share = existing.lock();
  if (!share) existing = share = std::make_shared<LoopShare>(owners_, owner);
  return share;
}

void LoopOwners::inspect(Monotonic::time_point now) {
  const double since = std::chrono::duration<double>(now - last_checked).count();
  if (now - last_checked < kCheckInterval) return;
  last_checked = now;
  busy = 0;
  for (LoopShare* share : by_use) {
    if (now - share->used_at_ > LoopShares::kRecently) break;
    const double used = std::chrono::duration<double>(std::exchange(share->used_since_check_, {})).count();
    share->load_ += kNewest * (used / since - share->load_);
    if (share->load_ > kBusyFrom || now - share->held_back_at_ <= LoopShares::kRecently) busy++;
  }
}

int64_t LoopOwners::parts() const { return static_cast<int64_t>(2 + std::max<size_t>(busy, 1)); }

bool LoopOwners::wanted_by_peers(const LoopShare& share, Monotonic::time_point now) const {
  for (const LoopShare* other : by_use)
    if (other != &share) return now - other->used_at_ <= LoopShares::kRecently;
  return false;
}
