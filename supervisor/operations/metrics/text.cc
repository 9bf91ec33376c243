#include "supervisor/operations/metrics/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace metrics {
namespace {

void append_escaped(std::string& to, std::string_view value) {
  while (!value.empty()) {
    const size_t plain = std::min(value.find_first_of("\\\"\n"), value.size());
    to.append(value.substr(0, plain));
    value.remove_prefix(plain);
    if (value.empty()) return;
    to += '\\';
    to += value.front() == '\n' ? 'n' : value.front();
    value.remove_prefix(1);
  }
}

void append_labels(std::string& to, Labels labels, std::string_view le) {
  char before = '{';
  const auto add = [&](std::string_view name, std::string_view value) {
    to += std::exchange(before, ',');
    to.append(name).append("=\"");
    append_escaped(to, value);
    to += '"';
  };
  for (const auto& [name, value] : labels) add(name, value);
  if (!le.empty()) add("le", le);
  if (before == ',') to += '}';
}

}  // namespace

std::string seconds_text(uint64_t usec) {
  std::string text = fmt::format("{}.{:06}", usec / 1'000'000, usec % 1'000'000);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

void OpenMetricsText::family(std::string_view name, std::string_view type, std::string_view unit,
                             std::string_view help) {
  name_ = name;
  out_ += fmt::format("# TYPE {} {}\n", name, type);
  if (!unit.empty()) out_ += fmt::format("# UNIT {} {}\n", name, unit);
  out_ += fmt::format("# HELP {} {}\n", name, help);
}

void OpenMetricsText::sample(std::string_view suffix, Labels labels, uint64_t value) {
  line(suffix, labels, std::to_string(value));
}

void OpenMetricsText::seconds(std::string_view suffix, Labels labels, uint64_t usec) {
  line(suffix, labels, seconds_text(usec));
}

void OpenMetricsText::histogram(Labels labels, std::span<const int64_t> bounds_us, std::span<const uint64_t> counts,
                                uint64_t sum_us) {
  uint64_t so_far = 0;
  for (size_t i = 0; i < counts.size(); i++) {
    so_far += counts[i];
    const std::string bound = i < bounds_us.size() ? seconds_text(static_cast<uint64_t>(bounds_us[i])) : "+Inf";
    line("_bucket", labels, std::to_string(so_far), bound);
  }
  sample("_count", labels, so_far);
  seconds("_sum", labels, sum_us);
}

void OpenMetricsText::line(std::string_view suffix, Labels labels, const std::string& value, std::string_view le) {
  out_.append(name_).append(suffix);
  append_labels(out_, labels, le);
  out_.append(" ").append(value).append("\n");
}

}  // namespace metrics
