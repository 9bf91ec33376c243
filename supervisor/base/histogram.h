// Histogram: counts durations by length; DurationHistogram also adds them up. Quantiles: of a list of durations, exact.
// Used by: metrics (supervisor/operations/metrics/text.h), the timeline, the journal. No errors.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

// Counts stop at their highest value.
template <class Count>
void add_bounded(Count& count, uint64_t more) {
  count = static_cast<Count>(std::min<uint64_t>(count + more, std::numeric_limits<Count>::max()));
}

// `kUpperBounds`: an array of microseconds, rising. The last count is for longer durations.
template <const auto& kUpperBounds, class Count = uint64_t>
struct Histogram {
  static constexpr const auto& kBounds = kUpperBounds;
  std::array<Count, kBounds.size() + 1> counts{};

  void add(int64_t us) {
    using Bound = std::decay_t<decltype(kBounds[0])>;
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), static_cast<Bound>(us));
    add_bounded(counts[static_cast<size_t>(bound - kBounds.begin())], 1);
  }
  template <class Other>
  void add(const Histogram<kUpperBounds, Other>& other) {
    for (size_t i = 0; i < counts.size(); i++) add_bounded(counts[i], other.counts[i]);
  }
  uint64_t count() const {
    uint64_t all = 0;
    for (const Count in_class : counts) all += in_class;
    return all;
  }

  // The duration, in microseconds, that `percent` of the counted ones do not exceed, interpolated within its class.
  // The last class is taken to be as much wider as the one before it. nullopt: nothing is counted.
  std::optional<uint64_t> quantile(double percent) const {
    const uint64_t all = count();
    if (all == 0) return std::nullopt;
    const double rank = std::max(1.0, static_cast<double>(all) * percent / 100);
    double before = 0;
    size_t i = 0;
    for (; i + 1 < counts.size() && before + static_cast<double>(counts[i]) < rank; i++)
      before += static_cast<double>(counts[i]);
    const auto bound = [](size_t index) { return static_cast<double>(kBounds[index]); };
    const double low = i == 0 ? 0 : bound(i - 1);
    const double high = i < kBounds.size() ? bound(i) : low * low / bound(i - 2);
    const double share = std::min(1.0, (rank - before) / static_cast<double>(std::max<Count>(counts[i], 1)));
    return static_cast<uint64_t>(low + (high - low) * share);
  }
};

template <const auto& kUpperBounds>
struct DurationHistogram : Histogram<kUpperBounds> {
  uint64_t sum_us = 0;

  void add(int64_t us) {
    Histogram<kUpperBounds>::add(us);
    sum_us += static_cast<uint64_t>(std::max<int64_t>(us, 0));
  }
};

struct Quantiles {
  uint64_t count = 0;  // of the durations
  int64_t p50_us = 0, p90_us = 0, p99_us = 0, max_us = 0;
};
// Each is the shortest duration that is at least as long as so many percent of all.
Quantiles exact_quantiles(std::vector<int64_t> times_us);
