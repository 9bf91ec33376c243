// TopScreen: the terminal of `warder top`, by ncurses: styled lines onto the screen, keys from it. Only top_screen.cc
// sees ncurses.
// Source: the terminal on standard input and output. Used by: top.cc. Errors: unavailable: no such terminal type.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/admin/top/top_draw.h"

namespace admin {

class TopScreen {
 public:
  // Switches the terminal to its alternate screen. The destructor restores the terminal.
  static Result<TopScreen> open();
  TopScreen(TopScreen&&) noexcept;
  ~TopScreen();

  TopSize size() const;
  // Shows the lines, cut at the width of the terminal, and clears the rest of the screen.
  void show(const std::vector<TopLine>& lines);
  // The next key that was pressed; absent: none is waiting. A new size of the terminal is a key of no meaning, 0.
  std::optional<int> take_key();

 private:
  struct Terminal;
  explicit TopScreen(std::unique_ptr<Terminal> terminal);
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace admin
