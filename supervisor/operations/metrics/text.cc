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

void append_labels(std::string& to, Labels labels) {
  char before = '{';
  for (const auto& [name, value] : labels) {
    to += std::exchange(before, ',');
    to.append(name).append("=\"");
    append_escaped(to, value);
    to += '"';
  }
  if (labels.size() > 0) to += '}';
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

void OpenMetricsText::line(std::string_view suffix, Labels labels, const std::string& value) {
  out_.append(name_).append(suffix);
  append_labels(out_, labels);
  out_.append(" ").append(value).append("\n");
}

}  // namespace metrics
