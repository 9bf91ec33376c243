#include "tests/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace bench {

double percentile(std::vector<double> samples, double share) {
  auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
  size_t index = std::clamp<size_t>(rank, 1, samples.size()) - 1;
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(index), samples.end());
  return samples[index];
}

void Series::add(const Sample& sample) {
  rounds_.back().push_back(sample.us);
  if (sample.cpu_us) cpu_us_.push_back(*sample.cpu_us);
}

size_t Series::count() const {
  size_t n = 0;
  for (const auto& round : rounds_) n += round.size();
  return n;
}

double Series::at(double share) const {
  std::vector<double> all;
  for (const auto& round : rounds_) all.insert(all.end(), round.begin(), round.end());
  return percentile(std::move(all), share);
}

std::optional<double> Series::cpu_us() const {
  if (cpu_us_.empty()) return std::nullopt;
  return percentile(cpu_us_, 0.5);
}

std::optional<double> Series::ratio_to(const Series& baseline) const {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(rounds_.size(), baseline.rounds_.size()); i++) {
    if (rounds_[i].empty() || baseline.rounds_[i].empty()) continue;
    ratios.push_back(percentile(rounds_[i], 0.5) / percentile(baseline.rounds_[i], 0.5));
  }
  if (ratios.empty()) return std::nullopt;
  return percentile(std::move(ratios), 0.5);
}

}  // namespace bench
