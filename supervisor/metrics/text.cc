#include "supervisor/metrics/text.h"

#include <fmt/format.h>

namespace metrics {
namespace {

std::string labels_text(Labels labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}=\"", out.empty() ? "{" : ",", name);
    for (const char c : value) {
      if (c == '\\' || c == '"') out += '\\';
      out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    out += '"';
  }
  return out.empty() ? out : out + "}";
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
  out_ += fmt::format("{}{}{} {}\n", name_, suffix, labels_text(labels), value);
}

}  // namespace metrics
