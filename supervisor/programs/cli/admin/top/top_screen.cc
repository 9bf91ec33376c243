#define NCURSES_NOMACROS 1
#include "supervisor/programs/cli/admin/top/top_screen.h"

#include <langinfo.h>
#include <ncurses.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <string_view>

#include "supervisor/programs/cli/admin/text.h"

namespace admin {
namespace {

constexpr int kEscapeDelayMs = 25;  // a lone Esc is a key; arrows arrive as Esc and more, at once

attr_t attributes_without_colour(TopStyle style) {
  switch (style) {
    case TopStyle::heading:
    case TopStyle::chosen:
      return A_REVERSE;
    case TopStyle::bad:
    case TopStyle::warning:
    case TopStyle::key:
      return A_BOLD;
    default:
      return A_NORMAL;
  }
}

// The colour of a style on the terminal's own background; -1: the terminal's own.
short colour_of(TopStyle style) {
  switch (style) {
    case TopStyle::good:
      return COLOR_GREEN;
    case TopStyle::bad:
      return COLOR_RED;
    case TopStyle::warning:
      return COLOR_YELLOW;
    case TopStyle::key:
    case TopStyle::quiet:
      return COLOR_CYAN;
    default:
      return -1;
  }
}

int key_of(int key) {
  switch (key) {
    case KEY_UP:
      return kKeyUp;
    case KEY_DOWN:
      return kKeyDown;
    case KEY_PPAGE:
      return kKeyPageUp;
    case KEY_NPAGE:
      return kKeyPageDown;
    case KEY_HOME:
      return kKeyHome;
    case KEY_END:
      return kKeyEnd;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return kKeyEnter;
    case KEY_BACKSPACE:
    case 0x7f:
    case 0x08:
      return kKeyErase;
    case 0x1b:
      return kKeyEscape;
    default:
      return key < 0x100 ? key : 0;
  }
}

}  // namespace

struct TopScreen::Terminal {
  SCREEN* screen = nullptr;
  bool colours = false, utf8 = false;

  ~Terminal() {
    ::endwin();
    ::delscreen(screen);
  }
  attr_t attributes(TopStyle style) const {
    if (!colours || style == TopStyle::heading || style == TopStyle::chosen) return attributes_without_colour(style);
    const attr_t bold = style == TopStyle::bad || style == TopStyle::key ? A_BOLD : A_NORMAL;
    return static_cast<attr_t>(COLOR_PAIR(static_cast<int>(style) + 1)) | bold;
  }
};

TopScreen::TopScreen(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}
TopScreen::TopScreen(TopScreen&&) noexcept = default;
TopScreen::~TopScreen() = default;

Result<TopScreen> TopScreen::open() {
  std::setlocale(LC_CTYPE, "");
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (!screen) {
    const char* type = std::getenv("TERM");
    return fail(Code::unavailable, std::string("the terminal type '") + (type ? type : "") + "' is not known here",
                "set TERM, for example TERM=xterm, or use --batch");
  }
  auto terminal = std::make_unique<Terminal>();
  terminal->screen = screen;
  terminal->utf8 = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(kEscapeDelayMs);
  ::curs_set(0);
  const char* no_colour = std::getenv("NO_COLOR");
  if ((!no_colour || !*no_colour) && ::has_colors() && ::start_color() != ERR) {
    terminal->colours = true;
    const short paper = ::use_default_colors() == ERR ? static_cast<short>(COLOR_BLACK) : static_cast<short>(-1);
    for (int style = 0; style <= static_cast<int>(TopStyle::key); style++) {
      const short ink = colour_of(static_cast<TopStyle>(style));
      const bool own = ink < 0 && paper >= 0;  // a terminal without colours of its own
      ::init_pair(static_cast<short>(style + 1), own ? static_cast<short>(COLOR_WHITE) : ink, paper);
    }
  }
  return TopScreen(std::move(terminal));
}

TopSize TopScreen::size() const {
  return {static_cast<size_t>(std::max(1, ::getmaxx(stdscr))), static_cast<size_t>(std::max(1, ::getmaxy(stdscr))),
          terminal_->utf8};
}

void TopScreen::show(const std::vector<TopLine>& lines) {
  const TopSize top_size = size();
  ::werase(stdscr);
  for (size_t y = 0; y < lines.size() && y < top_size.height; y++) {
    const TopLine& line = lines[y];
    ::wmove(stdscr, static_cast<int>(y), 0);
    size_t remaining = top_size.width;
    for (const TopSpan& span : line.spans) {
      ::wattrset(stdscr, static_cast<int>(terminal_->attributes(span.style)));
      const std::string text = terminal_->utf8 ? span.text : harmless(span.text);
      // waddnstr() goes to the next line at the right edge; the number of bytes bounds the number of columns only for
      // ASCII. So characters are counted here; a wide one may be cut.
      size_t bytes = 0;
      for (; bytes < text.size() && remaining > 0; remaining--) {
        bytes++;
        while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) bytes++;
      }
      ::waddnstr(stdscr, text.c_str(), static_cast<int>(bytes));
    }
    if (line.fill != TopStyle::heading && line.fill != TopStyle::chosen) continue;
    ::wattrset(stdscr, static_cast<int>(terminal_->attributes(line.fill)));
    for (; remaining > 0; remaining--) ::waddch(stdscr, ' ');
  }
  ::wattrset(stdscr, A_NORMAL);
  ::wrefresh(stdscr);
}

std::optional<int> TopScreen::take_key() {
  const int key = ::wgetch(stdscr);
  if (key == ERR) return std::nullopt;
  return key_of(key);
}

}  // namespace admin
