// ElapsedClock: the age of stored data, by elapsed time and not by a single reading of the wall clock. While the
// wall clock is wrong, data stays longer, and never shorter.
//
// Retention time: milliseconds since 1970, like the wall clock when the state folder was made. It never goes back. It
// counts:
//   - CLOCK_BOOTTIME within one boot, with the time in suspend.
//   - The time without power, if the kernel says that the wall clock is synchronised (adjtimex(2)), but at most
//     kCatchUp milliseconds in a millisecond that passes.
// The wall clock is far from the elapsed time when both differ by more than kFarMs since the last look. Then no data is
// removed for its age. The wall clock counts as right again when it comes back, when it is synchronised after a boot
// (the machine had no power, for at most kMaxUnpoweredMs), or when it has not jumped for kSettledMs. So a clock
// that was set by mistake deletes no data, and a machine without a time server removes data again after a day.
//
// Source: read_clocks(), and the record that the journal stores. Used by: supervisor/records/journal, which owns the
// ElapsedClock of the daemon. retention_now_ms() and rights_now_ms() are for all code that removes data or ends rights.
// No errors.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

struct MachineClocks {
  int64_t wall_ms = 0;           // CLOCK_REALTIME, since 1970
  int64_t boot_ms = 0;           // CLOCK_BOOTTIME
  std::string boot_id;           // /proc/sys/kernel/random/boot_id; empty: it cannot be read
  bool is_synchronised = false;  // by adjtimex(2); false, too, where a sandbox forbids that call
};
MachineClocks read_clocks();

// Age of data: compare times of records that were written with retention_now_ms() itself. In a program without an
// ElapsedClock it is the wall clock. Any thread may call it.
int64_t retention_now_ms();
// End of rights (tokens, logins, approvals): the wall clock, or the wall clock that the elapsed time explains,
// if that time is later. So a clock set back prolongs no right. Milliseconds since 1970. Any thread may call it.
int64_t rights_now_ms();
// True while the wall clock is far from the elapsed time: then no data may be removed for its age. Any thread may call
// it.
bool is_removal_by_age_paused();
// A retention time as time of the wall clock, for people and other machines; and the reverse.
int64_t wall_of_retention_ms(int64_t retention_ms);
int64_t retention_of_wall_ms(int64_t wall_ms);

struct ClockRecord {  // for a later process
  int64_t retention_ms = 0;
  int64_t expected_ms = 0;   // wall clock at `boot_ms`, as elapsed time explains it
  int64_t uncounted_ms = 0;  // time without power, not part of retention_ms yet
  int64_t boot_ms = 0;
  std::string boot_id;
  std::string confirmed_boot_id;  // of the last boot in which the wall clock was near expected_ms
  int64_t jump_ms = 0;            // wall clock minus expected_ms, if the wall clock is far; 0: it is near
  int64_t jump_since_ms = 0;      // retention time
};

class ElapsedClock {
 public:
  static constexpr int64_t kDayMs = 86'400'000;
  static constexpr int64_t kFarMs = kDayMs, kSettledMs = kDayMs;
  static constexpr int64_t kMaxUnpoweredMs = 31 * kDayMs;
  static constexpr int64_t kCatchUp = 7;

  // `stored`: the record of an earlier process. Without it, the retention time begins at the wall clock, or at the
  // newest record (`newest_ms`, since 1970) if its time is earlier.
  ElapsedClock(std::optional<ClockRecord> stored, std::optional<int64_t> newest_ms, const MachineClocks& now);
  ElapsedClock(const ElapsedClock&) = delete;
  ~ElapsedClock();

  // Takes a further reading. Call it every few seconds, on one thread.
  void update(const MachineClocks& now);
  const ClockRecord& record() const { return record_; }
  // By how much the wall clock is far from the elapsed time: positive, it is ahead. 0: it is near.
  int64_t jump_ms() const { return record_.jump_ms; }

 private:
  bool is_far(int64_t step, const MachineClocks& now);
  void publish() const;

  ClockRecord record_;
};

// "the clock is 400 days ahead of the time that has passed", without a remedy. `jump_ms` is not 0.
std::string clock_jump_text(int64_t jump_ms);
