#include "supervisor/cluster/placement/lease.h"

#include <algorithm>

namespace cluster {

LeaseState NodeLease::state(Time now) const {
  if (lost_ || !confirmed_) return LeaseState::ended;
  const auto age = now - *confirmed_;
  if (age < times_.fenced_after) return LeaseState::in_force;
  return age < times_.ended_after ? LeaseState::fenced : LeaseState::ended;
}

// After the last renewal that was sent: renew_every if it is confirmed, else retry_every.
NodeLease::Time NodeLease::renewal_time() const {
  const bool is_confirmed = confirmed_ == sent_;
  return is_confirmed ? *sent_ + times_.renew_every : *sent_ + times_.retry_every;
}

bool NodeLease::renewal_due(Time now) const {
  if (lost_) return false;
  return !sent_ || now >= renewal_time();
}

uint64_t NodeLease::begin_renewal(Time now) {
  if (unconfirmed_.size() == kMaxUnconfirmed) unconfirmed_.pop_front();
  unconfirmed_.push_back({++last_number_, now});
  sent_ = now;
  return last_number_;
}

bool NodeLease::confirm(uint64_t number, Time now) {
  if (lost_) return false;
  const auto it = std::ranges::find(unconfirmed_, number, &Renewal::number);
  if (it == unconfirmed_.end()) return false;
  const LeaseState before = state(now);
  confirmed_ = it->sent;
  unconfirmed_.erase(unconfirmed_.begin(), it + 1);  // the record already has this one or a later one
  if (before == LeaseState::in_force || state(now) != LeaseState::in_force) return false;
  gained_after_end_ = before == LeaseState::ended;
  ++period_;
  return true;
}

void NodeLease::lose() {
  lost_ = true;
  unconfirmed_.clear();
}

NodeLease::Time NodeLease::next_check(Time now) const {
  if (lost_) return now + times_.renew_every;
  if (!sent_) return now;
  Time next = renewal_time();
  for (const auto step : {times_.fenced_after, times_.ended_after})
    if (confirmed_ && *confirmed_ + step > now) next = std::min(next, *confirmed_ + step);
  return std::max(next, now);
}

bool LeaseWatch::saw(uint64_t revision, Time now) {
  observed(now);
  const bool is_renewal = revision_ && revision != *revision_;
  if (is_renewal || !revision_) quiet_since_ = now;
  revision_ = revision;
  return is_renewal;
}

void LeaseWatch::observed(Time now) {
  if (now - observed_ > kWatchGap) quiet_since_ = now;
  observed_ = now;
}

bool LeaseWatch::may_take(Time now) const { return remaining_time(now) == BootClock::duration::zero(); }

BootClock::duration LeaseWatch::remaining_time(Time now) const {
  const bool was_watching = now - observed_ <= kWatchGap;
  const Time from = was_watching ? quiet_since_ : now;
  return std::max<BootClock::duration>(from + kMayTakeAfter - now, BootClock::duration::zero());
}

}  // namespace cluster
