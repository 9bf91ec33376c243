// TerminalText: the output of a program as a person would see it on a terminal: without colours and titles, and of a
// line that was written again and again (a progress bar), the last text. Only the last line can be
// written again: a program that moves up in a terminal of several lines is shown line by line.
// Source: ECMA-48, console_codes(4). Used by: capture.cc. The writer is hostile: each byte costs a bounded time, and a
// line, a sequence and a title have bounds. Text without these bytes passes as it is. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace jail {

class TerminalText {
 public:
  // Appends the final text to `out`: whole lines, and the begin of a very long one.
  void add(std::string_view part, std::string& out);
  // The line that may still be written again.
  const std::string& line() const { return line_; }
  // Whether a line was written again, so that text is missing.
  bool has_overwritten() const { return has_overwritten_; }

 private:
  enum class State { text, escape, charset, control, title, title_end };
  void put(std::string_view text, std::string& out);
  void take_special(char c, std::string& out);
  void end_control(char final);
  std::string line_;
  size_t column_ = 0;  // byte of `line_` at which the next text is written
  State state_ = State::text;
  std::string parameters_;  // of a control sequence
  size_t title_bytes_ = 0;
  bool has_overwritten_ = false;
};

}  // namespace jail
