// OpenMetricsText: writes metric families as OpenMetrics 1.0 text, in the order of the calls.
// Used by: each part of the daemon that has metrics. No errors: every label value is escaped.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace metrics {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// "0.005", "10.0": no zeros at the end, but always a fraction, as OpenMetrics requires for bucket bounds.
std::string seconds_text(uint64_t usec);

class OpenMetricsText {
 public:
  // Begins a metric family. `unit`: the last part of the name, or "".
  void family(std::string_view name, std::string_view type, std::string_view unit, std::string_view help);
  // Adds a sample of the family that was begun last.
  void sample(std::string_view suffix, Labels labels, uint64_t value);
  void seconds(std::string_view suffix, Labels labels, uint64_t usec);
  // The buckets, number and sum of a histogram. `counts` has one more than `bounds_us`, for longer durations.
  void histogram(Labels labels, std::span<const int64_t> bounds_us, std::span<const uint64_t> counts, uint64_t sum_us);
  std::string end() && { return std::move(out_) + "# EOF\n"; }

 private:
  // `le`: a further label, the bound of a bucket; empty: none.
  void line(std::string_view suffix, Labels labels, const std::string& value, std::string_view le = {});
  std::string out_, name_;
};

}  // namespace metrics
