// LineReader and LineOutbox: read JSON lines from a descriptor and write them. A line has at most kMaxLineBytes.
// The caller of LineOutbox::add() stops at kHighWaterBytes.
// Used by: stdio_proxy.cc, relay.cc. Errors are errno values, for a poll() loop. The caller owns the descriptors.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/envelope_scan.h"

namespace cli {

inline constexpr size_t kMaxLineBytes = 16 << 20;   // warderd refuses longer requests
inline constexpr size_t kHighWaterBytes = 1 << 20;  // a LineOutbox with so many bytes should get no further line

class LineReader {
 public:
  struct Line {
    std::string_view text;   // without its newline; valid until the next fill() or next(); empty if oversized
    bool oversized = false;  // longer than kMaxLineBytes: dropped as it arrived
    std::optional<EnvelopeScan::EnvelopeFields> found = {};  // kind and id of an oversized line, if they are certain
  };

  // Reads once. > 0: bytes; 0: end; < 0: -errno.
  ssize_t fill(int fd);
  std::optional<Line> next();
  // At the end of the stream: the text after the last newline becomes a line.
  void finish() { buffer_ += '\n'; }
  bool empty() const { return start_ == buffer_.size(); }
  void clear();

 private:
  std::string buffer_;
  size_t start_ = 0;       // of the first line that next() has not returned yet
  size_t searched_ = 0;    // no newline in [start_, searched_)
  bool skipping_ = false;  // inside an oversized line
  EnvelopeScan scan_;      // of the oversized line
};

class LineOutbox {
 public:
  enum class State { drained, blocked, broken };

  void add(std::string_view line);
  size_t pending() const { return data_.size() - sent_; }
  bool full() const { return pending() >= kHighWaterBytes; }
  // Writes as many bytes as the descriptor takes now. `broken` leaves errno as the write set it.
  State flush(int fd);
  // Returns every line whose last byte was not written, and empties the outbox.
  std::string take_unsent();

 private:
  std::string data_;
  size_t sent_ = 0;
  size_t line_start_ = 0;  // of the line that holds byte sent_
};

// Makes a descriptor on which write() never blocks, without O_NONBLOCK on the open file description that other programs
// share (a terminal, another program's pipe). Pipes and terminals are opened again; LineOutbox sends to sockets with
// MSG_DONTWAIT. If a pipe or terminal cannot be opened again, its shared description gets O_NONBLOCK.
// Returns the descriptor to write to: a new one, or `fd` itself.
int open_for_writing(int fd);

}  // namespace cli
