// Statistics: samples of one measured case in rounds, and what is printed of them.
// Source: the cases (cases.h), one Series each. Times in microseconds.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace bench {

// The smallest sample that `share` (0..1) of all are not above. `samples` must not be empty.
double percentile(std::vector<double> samples, double share);

struct Sample {
  double us = 0;
  std::optional<double> cpu_us;  // of everything that worked for it, where that can be known
};

class Series {
 public:
  void begin_round() { rounds_.emplace_back(); }
  void add(const Sample& sample);

  bool empty() const { return count() == 0; }
  size_t count() const;
  double at(double share) const;
  std::optional<double> cpu_us() const;  // median
  // The median over the rounds that have both of (median here / median there). What else the machine does changes both
  // sides of a round alike, so this is the figure that can be compared between runs and machines.
  std::optional<double> ratio_to(const Series& baseline) const;

 private:
  std::vector<std::vector<double>> rounds_;
  std::vector<double> cpu_us_;
};

}  // namespace bench
