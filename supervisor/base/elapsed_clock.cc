#include "supervisor/base/elapsed_clock.h"

#include <fmt/format.h>
#include <sys/timex.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "supervisor/base/system_time.h"

namespace {

// Published by the ElapsedClock of this process: differences to CLOCK_BOOTTIME.
std::atomic<const ElapsedClock*> publisher{nullptr};
std::atomic<int64_t> retention_offset_ms{0}, rights_offset_ms{0};
std::atomic<bool> is_far_from_elapsed{false};

int64_t boot_now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// The kernel's file changes only with a boot.
const std::string& own_boot_id() {
  static const std::string id = [] {
    std::string line;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, line);
    return line;
  }();
  return id;
}

// Reads only: `modes` is 0, so the call needs no capability.
bool is_synchronised() {
  timex kernel{};
  return ::adjtimex(&kernel) >= 0 && (kernel.status & STA_UNSYNC) == 0;
}

}  // namespace

MachineClocks read_clocks() { return {system_now_ms(), boot_now_ms(), own_boot_id(), is_synchronised()}; }

int64_t retention_now_ms() {
  return publisher.load() == nullptr ? system_now_ms() : boot_now_ms() + retention_offset_ms.load();
}

int64_t rights_now_ms() {
  const int64_t wall = system_now_ms();
  return publisher.load() == nullptr ? wall : std::max(wall, boot_now_ms() + rights_offset_ms.load());
}

bool is_removal_by_age_paused() { return publisher.load() != nullptr && is_far_from_elapsed.load(); }

int64_t wall_of_retention_ms(int64_t retention_ms) { return retention_ms - retention_now_ms() + system_now_ms(); }
int64_t retention_of_wall_ms(int64_t wall_ms) { return wall_ms - system_now_ms() + retention_now_ms(); }

ElapsedClock::ElapsedClock(std::optional<ClockRecord> stored, std::optional<int64_t> newest_ms,
                           const MachineClocks& now) {
  if (stored) {
    record_ = *std::move(stored);
  } else {
    record_.retention_ms = std::min(now.wall_ms, newest_ms.value_or(now.wall_ms));
    record_.expected_ms = newest_ms.value_or(now.wall_ms);
    record_.boot_ms = now.boot_ms;
    record_.boot_id = now.boot_id;
  }
  update(now);
}

ElapsedClock::~ElapsedClock() {
  const ElapsedClock* own = this;
  publisher.compare_exchange_strong(own, nullptr);
}

// After a boot, the time since that boot has passed, but no more than the wall clock says: the state folder may be a
// copy from another machine.
void ElapsedClock::update(const MachineClocks& now) {
  const bool is_same_boot = !now.boot_id.empty() && now.boot_id == record_.boot_id;
  const int64_t possible =
      is_same_boot ? now.boot_ms - record_.boot_ms : std::min(now.boot_ms, now.wall_ms - record_.expected_ms);
  const int64_t passed = std::max<int64_t>(possible, 0);
  record_.retention_ms += passed;
  record_.expected_ms += passed;
  record_.boot_ms = now.boot_ms;
  record_.boot_id = now.boot_id;
  const int64_t step = now.wall_ms - record_.expected_ms;
  if (!is_far(step, now)) {
    record_.expected_ms = now.wall_ms;
    record_.confirmed_boot_id = now.boot_id;
    record_.jump_ms = record_.jump_since_ms = 0;
    if (step <= kMaxUnpoweredMs) record_.uncounted_ms = std::max<int64_t>(record_.uncounted_ms + step, 0);
    if (now.is_synchronised) {
      const int64_t counted = std::min(record_.uncounted_ms, kCatchUp * passed);
      record_.retention_ms += counted;
      record_.uncounted_ms -= counted;
    }
  }
  publish();
}

// Notes the jump of a far clock.
bool ElapsedClock::is_far(int64_t step, const MachineClocks& now) {
  if (std::abs(step) <= kFarMs) return false;
  const bool is_first_look = record_.confirmed_boot_id != now.boot_id;
  if (is_first_look && now.is_synchronised && step > 0 && step <= kMaxUnpoweredMs) return false;
  if (record_.jump_ms == 0 || std::abs(step - record_.jump_ms) > kFarMs) {
    record_.jump_ms = step;
    record_.jump_since_ms = record_.retention_ms;
  }
  return record_.retention_ms - record_.jump_since_ms < kSettledMs;
}

void ElapsedClock::publish() const {
  const int64_t boot = boot_now_ms();
  retention_offset_ms = record_.retention_ms - boot;
  rights_offset_ms = std::max(record_.expected_ms, record_.retention_ms + record_.uncounted_ms) - boot;
  is_far_from_elapsed = record_.jump_ms != 0;
  publisher = this;
}

std::string clock_jump_text(int64_t jump_ms) {
  const int64_t hours = (std::abs(jump_ms) + 1'800'000) / 3'600'000;
  const std::string amount = hours < 72 ? fmt::format("{} hours", hours) : fmt::format("{} days", (hours + 12) / 24);
  return fmt::format("the clock is {} {} the time that has passed since the last records", amount,
                     jump_ms > 0 ? "ahead of" : "behind");
}
