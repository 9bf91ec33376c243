// HopTimes: how long the way to another node and back takes: a histogram of the signs of life of connections to other
// nodes. Used by: request_router.h, supervisor/operations/metrics/. No errors.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cluster {

struct HopTimes {
  // Upper bounds in microseconds. The last count is for longer times.
  static constexpr std::array<uint64_t, 10> kBounds = {500,    1'000,   2'000,   5'000,     10'000,
                                                       20'000, 100'000, 500'000, 1'000'000, 2'000'000};
  std::array<uint64_t, kBounds.size() + 1> counts{};
  uint64_t sum_us = 0;

  void add(std::chrono::microseconds time) {
    const auto us = static_cast<uint64_t>(time.count() > 0 ? time.count() : 0);
    size_t i = 0;
    while (i < kBounds.size() && us > kBounds[i]) i++;
    counts[i]++;
    sum_us += us;
  }
};

}  // namespace cluster
