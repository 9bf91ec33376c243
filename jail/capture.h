// Capture: one output stream of a jailed program, drained while it runs. The whole is handed on up to a limit,
// head and tail stay in memory, the rest is counted.
// Source: the jail's pipes. Used by: jail/execution.cc. The writer is hostile: any bytes, any speed, for ever.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/loop_shares.h"

namespace jail {

struct CaptureLimits {
  uint64_t inline_bytes = 0;  // head and tail together
  uint64_t kept_bytes = 0;    // whole text; more is too much: `overflowed` is called once
};

class Capture {
 public:
  // `keep`: called with every part up to kept_bytes in all, until it returns false (a full disk); may be empty.
  // `progressed`: after each part, with the bytes so far and the last whole line; may be empty.
  Capture(CaptureLimits limits, std::function<bool(std::string_view)> keep, std::function<void()> overflowed,
          std::function<void(uint64_t bytes, std::string_view line)> progressed);

  // Reads until end of file, on the share of whoever writes. A pipe that somebody keeps open ends with the jail: cancel
  // or kill.
  Task<> drain(AsyncFd& pipe, LoopShare& share);

  // Reads what is there already. For a pipe whose writers may live on.
  void drain_now(AsyncFd& pipe);

  uint64_t bytes() const { return bytes_; }
  uint64_t lines() const { return lines_; }
  bool truncated() const { return bytes_ > head_.size() + tail_.size(); }
  // Head, a line saying what is left out, tail; valid UTF-8, never cut inside a sequence.
  std::string text() const;
  // The last bytes as they came, at most so many.
  std::string last(size_t bytes) const;

 private:
  void take(std::string_view part);
  void follow_lines(std::string_view part);
  CaptureLimits limits_;
  std::function<bool(std::string_view)> keep_;
  std::function<void()> overflowed_;
  std::function<void(uint64_t, std::string_view)> progressed_;
  std::string head_, tail_;
  std::string line_, unfinished_;  // the last whole line, and what has come of the next; no more than is shown
  uint64_t bytes_ = 0, lines_ = 0;
  bool too_much_ = false;
};

}  // namespace jail
