// The elapsed time that decides about the age of data and the end of rights: over wrong clocks, boots and suspends.
#include "supervisor/base/elapsed_clock.h"

#include "supervisor/base/system_time.h"
#include "tests/catch.h"

namespace {

constexpr int64_t kSecond = 1000, kHour = 3'600'000, kDay = 24 * kHour;
constexpr int64_t kStart = 1'790'000'000'000;  // of the wall clock

// A machine with clocks that the test moves.
struct Machine {
  MachineClocks now{kStart, 50 * kDay, "boot-1", true};

  void pass(int64_t ms) { now.wall_ms += ms, now.boot_ms += ms; }
  // Time without power.
  void reboot(int64_t off_ms, int64_t up_ms = 0) {
    now.wall_ms += off_ms + up_ms;
    now.boot_ms = up_ms;
    now.boot_id += "+";
  }
};

// Time that passes while the daemon looks at the clocks every minute.
void live(ElapsedClock& clock, Machine& machine, int64_t ms) {
  for (int64_t passed = 0; passed < ms; passed += 60 * kSecond) {
    machine.pass(60 * kSecond);
    clock.update(machine.now);
  }
}

}  // namespace

TEST_CASE("without an ElapsedClock the wall clock decides; with one, the elapsed time", "[elapsed_clock]") {
  CHECK(std::abs(retention_now_ms() - system_now_ms()) < 1000);
  CHECK(std::abs(rights_now_ms() - system_now_ms()) < 1000);
  {
    Machine machine;
    const ElapsedClock clock({}, {}, machine.now);
    CHECK(std::abs(retention_now_ms() - kStart) < 1000);
    CHECK(rights_now_ms() >= std::max(kStart, system_now_ms() - 1000));
    CHECK(std::abs(wall_of_retention_ms(kStart + kHour) - system_now_ms() - kHour) < 1000);
    CHECK(std::abs(retention_of_wall_ms(wall_of_retention_ms(7)) - 7) < 1000);
  }
  CHECK(std::abs(retention_now_ms() - system_now_ms()) < 1000);
}

TEST_CASE("a wall clock that jumps adds no age, in any direction, and is a finding until it is back",
          "[elapsed_clock]") {
  const int64_t jump = GENERATE(400 * kDay, -400 * kDay, 2 * kDay);
  const bool is_synchronised = GENERATE(true, false);
  Machine machine;
  machine.now.is_synchronised = is_synchronised;
  ElapsedClock clock({}, {}, machine.now);
  live(clock, machine, kHour);
  CHECK(clock.jump_ms() == 0);
  machine.now.wall_ms += jump;
  live(clock, machine, kHour);
  CHECK(clock.jump_ms() == jump);
  CHECK(is_removal_by_age_paused());
  CHECK(clock.record().retention_ms == kStart + 2 * kHour);
  machine.now.wall_ms -= jump;
  live(clock, machine, kHour);
  CHECK(clock.jump_ms() == 0);
  CHECK_FALSE(is_removal_by_age_paused());
  CHECK(clock.record().retention_ms == kStart + 3 * kHour);
  CHECK(clock.record().uncounted_ms == 0);
}

TEST_CASE("a clock that stays where it jumped is accepted after a day; a jump of years is never counted",
          "[elapsed_clock]") {
  Machine machine;
  ElapsedClock clock({}, {}, machine.now);
  machine.now.wall_ms += 400 * kDay;
  live(clock, machine, 23 * kHour);
  CHECK(clock.jump_ms() == 400 * kDay);
  live(clock, machine, 2 * kHour);
  CHECK(clock.jump_ms() == 0);
  live(clock, machine, kDay);
  CHECK(clock.record().retention_ms == kStart + 49 * kHour);
}

TEST_CASE("time without power counts when the clock is synchronised, and no faster than the limit", "[elapsed_clock]") {
  Machine machine;
  std::optional<ClockRecord> stored;
  {
    ElapsedClock clock({}, {}, machine.now);
    stored = clock.record();
  }
  machine.reboot(5 * kDay, kHour);
  machine.now.is_synchronised = false;
  ElapsedClock clock(stored, {}, machine.now);
  CHECK(clock.jump_ms() == 5 * kDay);  // the daemon cannot know yet
  CHECK(clock.record().retention_ms == kStart + kHour);
  machine.now.is_synchronised = true;
  live(clock, machine, kHour);
  CHECK(clock.jump_ms() == 0);
  CHECK(clock.record().retention_ms == kStart + 2 * kHour + ElapsedClock::kCatchUp * kHour);
  live(clock, machine, kDay);
  CHECK(clock.record().retention_ms == machine.now.wall_ms);
  CHECK(clock.record().uncounted_ms == 0);
}

TEST_CASE("time without power of a machine without a time server does not count, but is no lasting finding",
          "[elapsed_clock]") {
  Machine machine;
  machine.now.is_synchronised = false;
  std::optional<ClockRecord> stored;
  {
    ElapsedClock clock({}, {}, machine.now);
    stored = clock.record();
  }
  machine.reboot(3 * kDay);
  ElapsedClock clock(stored, {}, machine.now);
  CHECK(clock.jump_ms() == 3 * kDay);
  live(clock, machine, 25 * kHour);
  CHECK(clock.jump_ms() == 0);
  CHECK(clock.record().retention_ms == kStart + 25 * kHour);
}

TEST_CASE("a restart of the daemon loses no time; a clock without a battery makes no data old", "[elapsed_clock]") {
  Machine machine;
  std::optional<ClockRecord> stored;
  {
    ElapsedClock clock({}, {}, machine.now);
    stored = clock.record();
  }
  machine.pass(2 * kDay);  // no daemon runs
  {
    const ElapsedClock clock(stored, {}, machine.now);
    CHECK(clock.jump_ms() == 0);
    CHECK(clock.record().retention_ms == kStart + 2 * kDay);
    stored = clock.record();
  }
  machine.reboot(-700 * kDay, 60 * kSecond);  // the real-time clock lost its time
  machine.now.is_synchronised = false;
  ElapsedClock clock(stored, {}, machine.now);
  CHECK(clock.jump_ms() < -699 * kDay);
  CHECK(clock.record().retention_ms == kStart + 2 * kDay);
  machine.now.wall_ms += 700 * kDay;  // the time server answers
  machine.now.is_synchronised = true;
  live(clock, machine, kHour);
  CHECK(clock.jump_ms() == 0);
  CHECK(clock.record().retention_ms >= kStart + 2 * kDay + kHour);
}

TEST_CASE("a copy of the state folder on a machine that runs for a year is not a year older", "[elapsed_clock]") {
  Machine machine;
  std::optional<ClockRecord> stored;
  {
    ElapsedClock clock({}, {}, machine.now);
    stored = clock.record();
  }
  machine.reboot(kHour);
  machine.now.boot_ms = 365 * kDay;
  const ElapsedClock clock(stored, {}, machine.now);
  CHECK(clock.record().retention_ms <= kStart + kHour);
  CHECK(clock.jump_ms() == 0);
}

TEST_CASE("the first clock of an old state begins at its newest record, if the wall clock is later",
          "[elapsed_clock]") {
  Machine machine;
  machine.now.wall_ms += 400 * kDay;
  {
    const ElapsedClock clock({}, kStart, machine.now);
    CHECK(clock.record().retention_ms == kStart);
    CHECK(clock.jump_ms() == 400 * kDay);
  }
  const ElapsedClock behind({}, kStart + 800 * kDay, machine.now);
  CHECK(behind.record().retention_ms == machine.now.wall_ms);
  CHECK(behind.jump_ms() == -400 * kDay);
}

TEST_CASE("rights end although the clock was set back", "[elapsed_clock]") {
  const int64_t back = GENERATE(23 * kHour, 400 * kDay);
  Machine machine;
  const int64_t ahead = system_now_ms() + 1000 * kDay;  // later than this machine's clock
  machine.now.wall_ms = ahead;
  ElapsedClock clock({}, {}, machine.now);
  live(clock, machine, kHour);
  machine.now.wall_ms -= back;
  live(clock, machine, kHour);
  CHECK(rights_now_ms() >= ahead + 2 * kHour);
}

TEST_CASE("a wall clock that was ahead by mistake ends no right for ever", "[elapsed_clock]") {
  Machine machine;
  machine.now.wall_ms = system_now_ms();
  ElapsedClock clock({}, {}, machine.now);
  machine.now.wall_ms += 400 * kDay;
  live(clock, machine, kHour);
  machine.now.wall_ms -= 400 * kDay;
  live(clock, machine, kHour);
  CHECK(rights_now_ms() < system_now_ms() + kDay);
}

TEST_CASE("the text of a jump says how much and in which direction", "[elapsed_clock]") {
  CHECK(clock_jump_text(400 * kDay) ==
        "the clock is 400 days ahead of the time that has passed since the last records");
  CHECK(clock_jump_text(400 * kDay - 3) == clock_jump_text(400 * kDay));
  CHECK(clock_jump_text(-30 * kHour) == "the clock is 30 hours behind the time that has passed since the last records");
}

TEST_CASE("the readings of this machine are usable", "[elapsed_clock]") {
  const MachineClocks first = read_clocks(), second = read_clocks();
  CHECK(first.boot_id.size() == 36);
  CHECK(first.boot_id == second.boot_id);
  CHECK(second.boot_ms >= first.boot_ms);
  CHECK(std::abs(first.wall_ms - system_now_ms()) < 10'000);
}
