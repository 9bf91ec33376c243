#include "supervisor/base/histogram.h"

Quantiles exact_quantiles(std::vector<int64_t> times_us) {
  if (times_us.empty()) return {};
  auto from = times_us.begin();  // durations before this position are not longer than those behind it
  const auto at = [&](size_t percent) {
    const auto it = times_us.begin() + static_cast<ptrdiff_t>((times_us.size() * percent + 99) / 100 - 1);
    std::nth_element(from, it, times_us.end());
    from = it;
    return *it;
  };
  return {times_us.size(), at(50), at(90), at(99), *std::max_element(from, times_us.end())};
}
