// Capture: reads one output stream of a jailed program while the program runs. It passes the whole text on up to a
// limit, as it is. It keeps the head and the tail in memory, as a terminal would show them (terminal_text.h), and
// counts the rest. Source: the jail's pipes. Used by: jail/execution/running_execution.cc. The writer is hostile: any
// bytes, at any speed, without end.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "jail/talk/terminal_text.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/loop_shares.h"

namespace jail {

struct CaptureLimits {
  uint64_t inline_bytes = 0;  // head and tail together
  uint64_t max_bytes = 0;     // of the whole text; beyond it `overflowed` is called, once
};

class Capture {
 public:
  // `keep` is called with each part of the text, up to max_bytes in total, until it returns false (a full disk); may
  // be empty. `progressed` is called after each part, with the bytes so far and the last whole line, as it
  // is shown; may be empty.
  Capture(CaptureLimits limits, std::function<bool(std::string_view)> keep, std::function<void()> overflowed,
          std::function<void(uint64_t bytes, std::string_view line)> progressed);

  // Reads until end of file, on the loop share of the program's tenant. A process may hold the pipe open for ever: then
  // cancel this task or kill the jail.
  Task<> drain(AsyncFd& pipe, LoopShare& share);

  // Reads the bytes that are in the pipe now. Used when the pipe's writers may still run.
  void drain_now(AsyncFd& pipe);

  uint64_t bytes() const { return bytes_; }
  uint64_t lines() const { return lines_; }
  bool truncated() const { return shown_with_line().is_cut(); }
  // Whether text of a line is missing because the program wrote the line again.
  bool has_overwritten() const { return terminal_.has_overwritten(); }
  // The head, a line that says how many bytes are left out, and the tail. Valid UTF-8, never cut inside a sequence.
  std::string text() const;
  // The last bytes of what is shown; at most `bytes`.
  std::string last(size_t bytes) const;

 private:
  // The first and the last bytes of a text, each at most half of the bytes that are shown.
  struct Ends {
    std::string head, tail;
    uint64_t bytes = 0;
    bool is_cut() const { return bytes > head.size() + tail.size(); }
    void add(std::string_view part, size_t half);
  };
  Ends shown_with_line() const;
  void take(std::string_view part);
  void follow_lines(std::string_view part);
  CaptureLimits limits_;
  std::function<bool(std::string_view)> keep_;
  std::function<void()> overflowed_;
  std::function<void(uint64_t, std::string_view)> progressed_;
  TerminalText terminal_;
  Ends visible_;                   // without the terminal's line
  std::string ready_;              // what the terminal has just finished; empty between two parts
  std::string line_, unfinished_;  // the last whole line, and the begin of the next; at most as many bytes as are shown
  uint64_t bytes_ = 0, lines_ = 0;
  bool too_much_ = false;
};

}  // namespace jail
