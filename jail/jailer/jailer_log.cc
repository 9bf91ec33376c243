#include "jail/jailer/jailer_log.h"

#include <time.h>
#include <unistd.h>

#include <string>

#include "jail/short_text.h"

namespace jail {
namespace {

// "HH:MM:SS.mmm error: ", UTC.
std::string time_and_level() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  ShortText<32> text;
  auto add = [&text](long number, long power, char end) {
    for (; power > 0; power /= 10) text.add(static_cast<char>('0' + number / power % 10));
    text.add(end);
  };
  add(now.tv_sec / 3600 % 24, 10, ':');
  add(now.tv_sec / 60 % 60, 10, ':');
  add(now.tv_sec % 60, 10, '.');
  add(now.tv_nsec / 1'000'000, 100, ' ');
  text << "error: ";
  return text.c_str();
}

}  // namespace

void JailerLog::write_line(std::initializer_list<std::string_view> parts) const {
  std::string line = for_journal_ ? "<3>" : time_and_level();
  line += "jailer: ";
  for (const std::string_view part : parts) line += part;
  line += '\n';
  (void)!::write(STDERR_FILENO, line.data(), line.size());  // one write: lines of the daemon and the jailer never mix
}

void JailerLog::write(std::initializer_list<std::string_view> parts) {
  const auto now = std::chrono::steady_clock::now();
  if (now - minute_ >= std::chrono::minutes(1)) {
    ShortText<24> omitted;
    omitted << omitted_;
    if (omitted_ > 0) write_line({omitted.view(), " more lines of this kind were left out"});
    minute_ = now;
    lines_ = 0;
    omitted_ = 0;
  }
  if (lines_ == kMaxLines) {
    omitted_++;
    return;
  }
  lines_++;
  write_line(parts);
}

}  // namespace jail
