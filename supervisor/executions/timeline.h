// Timeline: what the daemon did in each second of the last hour and in each minute of the last day, for administrators
// who look after an incident. Its memory is bounded: kTimelineBytes, about 1 MB, touched as the hour fills.
// Source: timeline_recorder.cc. Used by: supervisor/operations/bus/read_timeline.cc. Times are seconds of one monotonic
// clock; read() turns them into seconds since 1970. Pure: tests/supervisor/executions/timeline_test.cc. Errors:
// invalid: a step that the timeline does not have.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/histogram.h"
#include "supervisor/base/result.h"

namespace executions {

// The value of a column that was not measured.
inline constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

// 48 classes, each 1.41 times as wide as the one before it: up to 250 us, 354 us, 500 us, ..., 35 minutes, longer. A
// quantile is off by less than 41 %; one in the last class is reported as at most 49 minutes.
inline constexpr std::array kAnswerBoundsUs = [] {
  std::array<double, 47> bounds{};
  for (size_t i = 0; i < bounds.size(); i++)
    bounds[i] = 250.0 * static_cast<double>(uint64_t{1} << i / 2) * (i % 2 == 0 ? 1 : std::numbers::sqrt2);
  return bounds;
}();

// The outcomes of jail/execution/outcome.h, in their order, and "other". timeline.cc compares the number with theirs.
inline constexpr size_t kOutcomeKinds = 16;
std::string_view outcome_kind(size_t index);

// TimelineState: the daemon at the end of a second.
struct TimelineState {
  uint32_t running = 0, waiting = 0, frozen = 0;
  uint32_t waiting_jails = 0;  // idle jails of the pool
  uint64_t memory_bytes = 0;
  uint64_t cpu_usec = 0;  // of all executions since the start of the daemon
  bool has_cpu = true;    // false: an execution runs whose CPU time is not known before its end
};

// TimelineBin: one second (Count is uint16_t) or one minute. Counts stop at their highest value.
template <class Count>
struct TimelineBin {
  int64_t second = 0;     // the first one, of the monotonic clock
  uint64_t cpu_usec = 0;  // kUnknown: not measured
  uint64_t memory_bytes = 0;
  uint32_t seconds = 0;  // how many this bin is about; more than one if the loop was busy
  uint32_t running = 0, waiting = 0, frozen = 0, waiting_jails = 0;  // the highest number
  std::array<Count, kOutcomeKinds> outcomes{};
  Histogram<kAnswerBoundsUs, Count> answers{};
};

// BinRing: the newest kMax bins. Oldest first.
template <class Bin, size_t kMax>
class BinRing {
 public:
  static constexpr size_t kBytes = sizeof(Bin) * kMax;
  BinRing() { bins_.reserve(kMax); }
  void push(const Bin& bin) {
    if (bins_.size() < kMax) {
      bins_.push_back(bin);
    } else {
      bins_[oldest_] = bin;
      oldest_ = (oldest_ + 1) % kMax;
    }
  }
  template <class Fn>
  void each(Fn fn) const {
    for (size_t i = 0; i < bins_.size(); i++) fn(bins_[(oldest_ + i) % bins_.size()]);
  }

 private:
  std::vector<Bin> bins_;
  size_t oldest_ = 0;
};

// TimelineRange: rows for the caller. Every row has as many values as there are columns.
struct TimelineRange {
  std::vector<std::string> columns;
  std::vector<std::vector<uint64_t>> rows;  // oldest first; kUnknown: not measured
  uint64_t answers = 0;                     // of the whole range, with their quantiles in microseconds
  uint64_t p50 = kUnknown, p90 = kUnknown, p99 = kUnknown;
};

class Timeline {
 public:
  static constexpr size_t kSeconds = 3600, kMinutes = 1440;

  // Counts an execution that ended. `answered`: from its request to its answer; absent if it got no jail.
  void add(std::string_view outcome, std::optional<std::chrono::microseconds> answered);
  // Ends the second before `second`, in which the daemon came to `state`. The first call begins the timeline. Seconds
  // must increase; others are ignored.
  void close(int64_t second, const TimelineState& state);

  struct Query {
    int64_t from = 0, until = std::numeric_limits<int64_t>::max();  // seconds since 1970; until is not included
    uint32_t step = 1;                                              // seconds; from 60 on a multiple of 60
  };
  // One row for each step that has a bin, from the seconds (step below 60) or from the minutes. Steps begin at
  // multiples of `step` since 1970. `epoch`: the second 0 of the monotonic clock, in seconds since 1970.
  Result<TimelineRange> read(const Query& request, int64_t epoch) const;

 private:
  using Second = TimelineBin<uint16_t>;
  using Minute = TimelineBin<uint32_t>;
  Second open_;                    // the second that has not ended
  std::optional<Minute> minute_;   // the minute that has not ended
  std::optional<int64_t> closed_;  // the `second` of the last close()
  std::optional<uint64_t> cpu_;    // cpu_usec at the last close(), if it was known
  BinRing<Second, kSeconds> seconds_;
  BinRing<Minute, kMinutes> minutes_;

 public:
  static constexpr size_t kBytes = BinRing<Second, kSeconds>::kBytes + BinRing<Minute, kMinutes>::kBytes;
};
inline constexpr size_t kTimelineBytes = Timeline::kBytes;
static_assert(kTimelineBytes < 1'200'000, "the header and administration.md name about 1 MB");

}  // namespace executions
