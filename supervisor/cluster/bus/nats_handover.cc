#include "supervisor/cluster/bus/nats_handover.h"

#include <unordered_map>
#include <utility>

namespace cluster {
namespace {

struct TargetTable {
  std::mutex mutex;
  uintptr_t last = 0;
  std::unordered_map<uintptr_t, std::shared_ptr<NatsTarget>> targets;
};

// Never destroyed: threads of libnats may still look up their targets while the process ends.
TargetTable& target_table() {
  static TargetTable& table = *new TargetTable;
  return table;
}

}  // namespace

Result<std::shared_ptr<NatsHandover>> NatsHandover::open(Loop& loop, std::function<void()> woken) {
  std::shared_ptr<NatsHandover> handover(new NatsHandover);
  TRY(handover->wake_, LoopWake::open(loop, std::move(woken)));
  handover->sender_ = handover->wake_->sender();
  return handover;
}

void NatsHandover::change(const std::function<void(NatsNews&)>& how) {
  {
    const std::lock_guard lock(mutex_);
    if (!wake_) return;
    how(news_);
  }
  sender_.send();
}

void NatsHandover::arrived(const std::shared_ptr<NatsTarget>& target) {
  change([&target](NatsNews& news) {
    if (!std::exchange(target->is_announced, true)) news.arrivals.push_back(target);
  });
}

NatsNews NatsHandover::take() {
  const std::lock_guard lock(mutex_);
  NatsNews nats_news = news_;
  news_.unsent = 0;
  news_.refusals.clear();
  news_.failed_requests.clear();
  news_.arrivals.clear();
  for (const auto& target : nats_news.arrivals) target->is_announced = false;
  return nats_news;
}

void NatsHandover::close() {
  NatsNews rest;  // may hold the last reference to a feed: released without the lock
  const std::lock_guard lock(mutex_);
  wake_.reset();
  std::swap(rest, news_);
}

void* enter_target(std::shared_ptr<NatsTarget> target) {
  TargetTable& table = target_table();
  const std::lock_guard lock(table.mutex);
  table.targets.emplace(++table.last, std::move(target));
  return reinterpret_cast<void*>(table.last);
}

void leave_target(void* number) {
  std::shared_ptr<NatsTarget> target;
  TargetTable& table = target_table();
  const std::lock_guard lock(table.mutex);
  const auto it = table.targets.find(reinterpret_cast<uintptr_t>(number));
  if (it == table.targets.end()) return;
  target = std::move(it->second);
  table.targets.erase(it);
}

std::shared_ptr<NatsTarget> find_target(void* number) {
  TargetTable& table = target_table();
  const std::lock_guard lock(table.mutex);
  const auto it = table.targets.find(reinterpret_cast<uintptr_t>(number));
  return it == table.targets.end() ? nullptr : it->second;
}

}  // namespace cluster
