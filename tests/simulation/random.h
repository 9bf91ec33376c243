// RandomSource: splitmix64. One sequence for one seed on every machine; the standard's distributions differ.
#pragma once
#include <cmath>
#include <cstdint>

namespace simulation {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }  // 0 to 1, without 1
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(((bits() >> 32U) * limit) >> 32U); }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

 private:
  uint64_t state_;
};

}  // namespace simulation
