// LineReader and LineOutbox: the two ends of a pipe of JSON lines. Bounded: a line is at most kMaxLineBytes, and
// whoever fills a LineOutbox stops at kHighWaterBytes.
// Errors are errno values, as the poll loop wants them. Neither owns the descriptor it is given.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/envelope_scan.h"

namespace cli {

inline constexpr size_t kMaxLineBytes = 16 << 20;   // warderd refuses longer requests itself
inline constexpr size_t kHighWaterBytes = 1 << 20;  // a LineOutbox this full takes no further line

class LineReader {
 public:
  struct Line {
    std::string_view text;   // without its newline; valid until the next fill() or next(); empty if oversized
    bool oversized = false;  // longer than kMaxLineBytes: dropped as it arrived
    std::optional<EnvelopeScan::Found> found = {};  // of such a line, where it is certain
  };

  // Reads once. > 0: bytes; 0: end; < 0: -errno.
  ssize_t fill(int fd);
  std::optional<Line> next();
  // At the end of the stream: what came after the last newline is a line too.
  void finish() { buffer_ += '\n'; }
  bool empty() const { return start_ == buffer_.size(); }
  void clear();

 private:
  std::string buffer_;
  size_t start_ = 0;       // of the first line not yet handed out
  size_t searched_ = 0;    // no newline in [start_, searched_)
  bool skipping_ = false;  // inside a line that is too long
  EnvelopeScan scan_;      // of that line
};

class LineOutbox {
 public:
  enum class State { drained, blocked, broken };

  void add(std::string_view line);
  size_t pending() const { return data_.size() - sent_; }
  bool full() const { return pending() >= kHighWaterBytes; }
  // Writes what the descriptor takes now. `broken` leaves errno as the write set it.
  State flush(int fd);
  // Every line of which the last byte was not written, and forgets all.
  std::string take_unsent();

 private:
  std::string data_;
  size_t sent_ = 0;
  size_t line_start_ = 0;  // of the line that holds byte sent_
};

// Makes a descriptor that write() never blocks on, without changing the description it shares with others (a
// terminal, another program's pipe): sockets are sent to with MSG_DONTWAIT, pipes and terminals opened anew.
// Returns the descriptor to write to: a new one, or `fd` itself.
int open_for_writing(int fd);

}  // namespace cli
