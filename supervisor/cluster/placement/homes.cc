#include "supervisor/cluster/placement/homes.h"

namespace cluster {

std::optional<HomeRecord> adopted(const HomeRecord& present, const std::string& taker, const LeaseWatch& watch,
                                  BootClock::time_point now) {
  if (present.node == taker || !watch.may_take(now)) return std::nullopt;
  return HomeRecord{taker, present.epoch + 1};
}

HomeState HeldHomes::state(const tenants::TenantId& workspace, BootClock::time_point now) const {
  const auto it = homes_.find(workspace);
  if (it == homes_.end()) return HomeState::unknown;
  const Home& home = it->second;
  if (home.is_lost) return HomeState::lost;
  const LeaseState lease = lease_.state(now);
  if (lease == LeaseState::ended) return HomeState::ended;
  const uint64_t gains = lease_.period() - home.period;  // since this home was confirmed
  if (gains > 1 || (gains == 1 && lease_.gained_after_end())) return HomeState::ended;
  return lease == LeaseState::in_force && gains == 0 ? HomeState::usable : HomeState::fenced;
}

void HeldHomes::confirm(const tenants::TenantId& workspace, const HomeRecord& record, uint64_t period,
                        RecordSource source) {
  const auto it = homes_.find(workspace);
  const bool is_known = it != homes_.end();
  if (is_known && record.epoch < it->second.epoch) return;  // a replica of the store that lags behind
  if (record.node != self_) {
    if (is_known) it->second = {record.epoch, it->second.period, true};
    return;
  }
  if (period != lease_.period()) return;
  if (!is_known) {
    homes_.emplace(workspace, Home{record.epoch, period, false});
    return;
  }
  Home& home = it->second;
  const bool is_same = record.epoch == home.epoch && !home.is_lost;
  const bool is_new_take = source == RecordSource::claimed && record.epoch > home.epoch;
  home = {record.epoch, period, !is_same && !is_new_take};
}

void HeldHomes::forget_if(const std::function<bool(const tenants::TenantId& workspace)>& is_gone) {
  std::erase_if(homes_, [&is_gone](const auto& home) { return is_gone(home.first); });
}

}  // namespace cluster
