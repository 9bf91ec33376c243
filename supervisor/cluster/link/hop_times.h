// HopTimes: how long the way to another node and back takes: a histogram of the signs of life of connections to other
// nodes. Used by: request_router.h, supervisor/operations/metrics/. No errors.
#pragma once
#include "supervisor/base/histogram.h"

namespace cluster {

inline constexpr std::array<int64_t, 10> kHopBoundsUs = {500,    1'000,   2'000,   5'000,     10'000,
                                                         20'000, 100'000, 500'000, 1'000'000, 2'000'000};
using HopTimes = DurationHistogram<kHopBoundsUs>;

}  // namespace cluster
