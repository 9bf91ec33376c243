// Log lines of the daemon, on stderr: one event, one line. Under systemd, a line begins with a <N> priority prefix
// (sd-daemon(3)), so that the journal knows the level. Library folders return errors and do not log; the owner of a
// request logs once. Untrusted values from a jail or an agent must be escaped first, with printable().
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

enum class LogLevel { error = 3, warning = 4, notice = 5, info = 6, debug = 7 };  // syslog(3) numbers

void set_log_level(LogLevel level);
LogLevel log_level();
// Accepts "error", "warning", "notice", "info" and "debug". Returns false for any other name.
bool parse_log_level(std::string_view name, LogLevel& level);
void log_line(LogLevel level, std::string_view text);

// The first `max_bytes` of an untrusted text; control characters, backslashes and non-ASCII bytes become \xNN.
std::string printable(std::string_view untrusted, size_t max_bytes = 200);

template <class... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level > log_level()) return;
  log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> f, Args&&... a) {
  log_at(LogLevel::error, f, std::forward<Args>(a)...);
}
template <class... Args>
void log_warning(fmt::format_string<Args...> f, Args&&... a) {
  log_at(LogLevel::warning, f, std::forward<Args>(a)...);
}
template <class... Args>
void log_notice(fmt::format_string<Args...> f, Args&&... a) {
  log_at(LogLevel::notice, f, std::forward<Args>(a)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> f, Args&&... a) {
  log_at(LogLevel::info, f, std::forward<Args>(a)...);
}
template <class... Args>
void log_debug(fmt::format_string<Args...> f, Args&&... a) {
  log_at(LogLevel::debug, f, std::forward<Args>(a)...);
}
