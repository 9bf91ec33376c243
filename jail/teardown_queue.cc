#include "jail/teardown_queue.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

// By then the client has the answer. Code that has answered may run until it is killed.
constexpr auto kEndAfter = 2ms;
constexpr auto kLookAgainAfter = 25ms;
constexpr int kLooks = 8;
constexpr uint32_t kMostStaying = 64;
constexpr uint64_t kAtRestUs = 500;  // CPU time that the runner needs to go to sleep after its answer

// CPU time of the only process beside init; empty: there are more processes, or it is gone.
std::optional<uint64_t> lone_cpu_us(Jail& jail) {
  auto lone = jail.lone_process(Threads::any);
  return lone ? std::optional(lone->cpu_us) : std::nullopt;
}

}  // namespace

TeardownQueue::TeardownQueue(Loop& loop, std::function<bool()> is_crowded)
    : loop_(loop), is_crowded_(std::move(is_crowded)), tasks_(loop) {}

void TeardownQueue::end(std::unique_ptr<Jail> jail, Left left) { tasks_.spawn(end_later(std::move(jail), left)); }

Task<> TeardownQueue::end_later(std::unique_ptr<Jail> jail, Left left) {
  co_await sleep_for(loop_, kEndAfter);
  if (left == Left::little && is_crowded_() && staying_ < kMostStaying) {
    staying_++;
    co_await stay(*jail);
    staying_--;
  }
  jail->kill();
}

Task<> TeardownQueue::stay(Jail& jail) {
  const bool frozen = jail.cgroup() && jail.cgroup().memory_bytes() <= kLittleBytes && jail.cgroup().freeze();
  if (jail.cgroup() && !frozen) co_return;
  const auto before = frozen ? std::nullopt : lone_cpu_us(jail);
  if (!frozen && !before) co_return;
  for (int look = 0; look < kLooks && is_crowded_(); look++) {
    co_await sleep_for(loop_, look == 0 ? kEndAfter : kLookAgainAfter);  // most running code is seen at once
    if (frozen) continue;
    const auto now = lone_cpu_us(jail);
    if (!now || *now > *before + kAtRestUs) co_return;
  }
}

}  // namespace jail
