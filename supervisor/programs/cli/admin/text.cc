#include "supervisor/programs/cli/admin/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace admin {
namespace {

constexpr size_t kGap = 2;  // between columns

std::string printed(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value, unit);
  return text;
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes);
  auto value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"K", "M", "G", "T", "P"}) {
    if (value < 1000) break;
    value /= 1024;
    unit = next;
  }
  return printed(value < 10 ? "%.1f%s" : "%.0f%s", value, unit);
}

std::string usec_text(uint64_t usec) {
  const auto value = static_cast<double>(usec);
  if (usec < 1'000'000) return printed(usec < 10'000 ? "%.1f%s" : "%.0f%s", value / 1e3, "ms");
  if (usec < 60'000'000) return printed("%.1f%s", value / 1e6, "s");
  const uint64_t seconds = usec / 1'000'000;
  char text[64];
  if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%llum%02llus", static_cast<unsigned long long>(seconds / 60),
                  static_cast<unsigned long long>(seconds % 60));
  } else {
    std::snprintf(text, sizeof text, "%lluh%02llum", static_cast<unsigned long long>(seconds / 3600),
                  static_cast<unsigned long long>(seconds / 60 % 60));
  }
  return text;
}

std::string known_bytes_text(std::optional<uint64_t> bytes) { return bytes ? bytes_text(*bytes) : "-"; }
std::string known_usec_text(std::optional<uint64_t> usec) { return usec ? usec_text(*usec) : "-"; }

std::string harmless(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text;
}

std::vector<std::string> table(const std::vector<Column>& columns, const std::vector<Line>& lines, size_t width) {
  std::vector<size_t> widths;
  for (const Column& column : columns) widths.push_back(column.title.size());
  for (const Line& line : lines)
    for (size_t i = 0; i < columns.size(); i++) widths[i] = std::max(widths[i], line[i].size());
  const size_t all_widths = std::accumulate(widths.begin(), widths.end(), kGap * (columns.size() - 1));
  for (size_t i = 0; i < columns.size() && width > 0 && all_widths > width; i++) {
    if (columns[i].fit != Fit::shrinks) continue;
    const size_t least = std::min(widths[i], columns[i].title.size());
    widths[i] -= std::min(widths[i] - least, all_widths - width);
  }
  auto laid_out = [&](auto&& text_of) {
    std::string out;
    for (size_t i = 0; i < columns.size(); i++) {
      std::string text = harmless(text_of(i));
      if (text.size() > widths[i]) text = text.substr(0, widths[i] - 1) + "~";
      const std::string padding(widths[i] - text.size(), ' ');
      if (i > 0) out.append(kGap, ' ');
      out += columns[i].align == Align::right ? padding + text : text + padding;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    if (width > 0 && out.size() > width) out.resize(width);
    return out;
  };
  std::vector<std::string> all = {laid_out([&](size_t i) { return columns[i].title; })};
  for (const Line& line : lines) all.push_back(laid_out([&](size_t i) { return line[i]; }));
  return all;
}

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

}  // namespace admin
