#include "supervisor/base/log.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {
LogLevel current_level = LogLevel::info;
constexpr std::string_view kLevelNames[] = {"", "", "", "error", "warning", "notice", "info", "debug"};
}  // namespace

void set_log_level(LogLevel level) { current_level = level; }
LogLevel log_level() { return current_level; }

bool parse_log_level(std::string_view name, LogLevel& level) {
  for (int i = 3; i <= 7; i++) {
    if (name == kLevelNames[i]) {
      level = static_cast<LogLevel>(i);
      return true;
    }
  }
  return false;
}

// Escapes control characters, so that a quoted text cannot begin a log line.
static std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      line += c;
    } else {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return line;
}

void log_line(LogLevel level, std::string_view text) {
  static const bool journal = std::getenv("JOURNAL_STREAM") != nullptr;
  std::string line;
  const std::string display_text = one_line(text);
  if (journal) {
    line = fmt::format("<{}>{}\n", static_cast<int>(level), display_text);
  } else {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm utc{};
    gmtime_r(&now.tv_sec, &utc);
    line = fmt::format("{:02}:{:02}:{:02}.{:03} {}: {}\n", utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1'000'000,
                       kLevelNames[static_cast<int>(level)], display_text);
  }
  // One write, so that lines of the daemon and the jailer never mix. If stderr is full or closed, the line is lost:
  // logging must not stop the daemon.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

std::string printable(std::string_view untrusted, size_t max_bytes) {
  std::string out;
  for (unsigned char c : untrusted.substr(0, max_bytes)) {
    if (c >= 0x20 && c < 0x7f && c != '\\') {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("\\x{:02x}", c);
    }
  }
  if (untrusted.size() > max_bytes) out += "...";
  return out;
}
