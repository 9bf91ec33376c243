#include <fmt/format.h>

#include "supervisor/message_ids.h"

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

void log_problem(std::string_view message_id, const std::string& subject, const Error& error) {
  for (const std::string& line : lines_of(error.what + (error.hint.empty() ? "" : "; ") + error.hint))
    log_fields(LogLevel::error, message_id, fmt::format("{}: {}", subject, line), {});
}
