#include "jail/pool/teardown_queue.h"

#include "jail/jail.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

// By then the client has the answer. Code that has answered may run until it is killed.
constexpr auto kEndAfter = 2ms;
// Most code that runs on is seen at the first look.
constexpr std::chrono::milliseconds kLookAfter[] = {kEndAfter, 10ms, 25ms, 25ms, 25ms, 50ms, 50ms};
constexpr uint32_t kMaxStaying = 64;
constexpr uint64_t kAtRestUs = 500;  // CPU time that the runner needs to go to sleep after its answer

}  // namespace

TeardownQueue::TeardownQueue(Loop& loop, std::function<bool()> is_crowded)
    : loop_(loop), is_crowded_(std::move(is_crowded)), tasks_(loop) {}

void TeardownQueue::end(std::unique_ptr<Jail> jail, Remainder remaining) {
  tasks_.spawn(end_later(std::move(jail), remaining));
}

Task<> TeardownQueue::end_later(std::unique_ptr<Jail> jail, Remainder remaining) {
  co_await sleep_for(loop_, kEndAfter);
  if (remaining == Remainder::little && is_crowded_() && staying_ < kMaxStaying) {
    staying_++;
    co_await stay(*jail);
    staying_--;
  }
  jail->kill();
}

Task<> TeardownQueue::stay(Jail& jail) {
  const bool frozen = jail.cgroup() && jail.cgroup().memory_bytes() <= kLittleBytes && jail.cgroup().freeze();
  if (jail.cgroup() && !frozen) co_return;
  const auto before = frozen ? std::nullopt : jail.lone_cpu_us();
  if (!frozen && !before) co_return;
  for (const auto wait : kLookAfter) {
    if (!is_crowded_()) co_return;
    co_await sleep_for(loop_, wait);
    if (frozen) continue;
    const auto now = jail.lone_cpu_us();
    if (!now || *now > *before + kAtRestUs) co_return;
  }
}

}  // namespace jail
