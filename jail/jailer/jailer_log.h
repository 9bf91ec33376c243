// JailerLog: the jailer's log lines on stderr, all of level error, in the form of supervisor/base/log.h. At most
// kMaxLines in a minute: a sender of bad orders must not fill the log.
// Used by: jail/jailer/.
#pragma once
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace jail {

class JailerLog {
 public:
  // The line consists of these parts: our own texts, and those of the C library.
  void write(std::initializer_list<std::string_view> parts);
  // Lines begin with a level for the journal (sd-daemon(3)), not with the time.
  void set_for_journal(bool for_journal) { for_journal_ = for_journal; }

 private:
  static constexpr unsigned kMaxLines = 20;
  void write_line(std::initializer_list<std::string_view> parts) const;

  bool for_journal_ = false;
  std::chrono::steady_clock::time_point minute_ = std::chrono::steady_clock::now();  // when it began
  unsigned lines_ = 0;                                                               // of this minute
  uint64_t omitted_ = 0;                                                             // likewise
};

}  // namespace jail
