// Waits: a distribution of times in steps of a microsecond, up to 4 s; longer ones count as 4 s.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simulation {

class Waits {
 public:
  void add(double us) {
    const auto step = std::min(static_cast<size_t>(us), kSteps - 1);
    if (step >= counts_.size()) counts_.resize(std::min(kSteps, step * 2 + 1'000));
    ++counts_[step];
    ++count_;
    sum_us_ += us;
  }
  uint64_t count() const { return count_; }
  double mean_us() const { return count_ == 0 ? 0 : sum_us_ / static_cast<double>(count_); }
  // The smallest time that `share` (0 to 1) of all are not above; 0 without times.
  double at(double share) const {
    const auto requested = static_cast<uint64_t>(share * static_cast<double>(count_));
    uint64_t seen = 0;
    for (size_t step = 0; step < counts_.size(); ++step)
      if ((seen += counts_[step]) > requested) return static_cast<double>(step);
    return 0;
  }

 private:
  static constexpr size_t kSteps = 4'000'000;
  std::vector<uint32_t> counts_;
  uint64_t count_ = 0;
  double sum_us_ = 0;
};

}  // namespace simulation
