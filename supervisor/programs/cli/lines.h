// Reading and writing JSON lines without an event loop. A line has at most kMaxLineBytes.
// The caller of LineOutbox::add() stops at kHighWaterBytes.
// Used by: stdio_proxy.cc, relay.cc. Errors are errno values, for a poll() loop. The caller owns the descriptors.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "supervisor/base/line_splitter.h"

namespace cli {

inline constexpr size_t kMaxLineBytes = 16 << 20;   // warderd refuses longer requests
inline constexpr size_t kHighWaterBytes = 1 << 20;  // a LineOutbox with so many bytes should get no further line

// Reads once. > 0: bytes; 0: end; < 0: -errno.
ssize_t fill(LineSplitter& lines, int fd);

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
