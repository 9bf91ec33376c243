// Terminal text: what a person would see of a program's output, and that hostile output costs no more than its bytes.
#include "jail/talk/terminal_text.h"

#include <chrono>

#include "tests/catch.h"

using jail::TerminalText;

namespace {

struct Shown {
  std::string text;
  bool has_overwritten = false;
};

Shown displayed(std::string_view bytes, size_t part = std::string_view::npos) {
  TerminalText terminal;
  Shown all;
  for (size_t at = 0; at < bytes.size(); at += std::min(part, bytes.size() - at))
    terminal.add(bytes.substr(at, part), all.text);
  all.text += terminal.line();
  all.has_overwritten = terminal.has_overwritten();
  return all;
}

}  // namespace

TEST_CASE("output is shown as on a terminal", "[terminal]") {
  const auto [bytes, text, has_overwritten] = GENERATE(table<std::string, std::string, bool>({
      {"one\ntwo\n\nthree", "one\ntwo\n\nthree", false},
      {"", "", false},
      {"a\r\nb\r\n", "a\nb\n", false},
      {" 10%\r 50%\r100%\ndone\n", "100%\ndone\n", true},
      {"long line\rshort\n", "shortline\n", true},
      {"one\rtwo", "two", true},
      {"\r\r\nx\r", "\nx", false},
      {"\x1b[31mred\x1b[0m \x1b[1;38;5;200mbold\x1b[m\n", "red bold\n", false},
      {"\x1b]0;a title\x07text\n\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\\n", "text\nlink\n", false},
      {"abc\b\bX\n", "aXc\n", true},
      {"|\b/\b-\bok\n", "ok\n", true},
      {"progress\r\x1b[Kdone\n", "done\n", true},
      {"progress\x1b[2Kdone\n", "done\n", true},
      {"abc\x1b[2Dx\x1b[1Gy\n", "yxc\n", true},
      {"h\xC3\xA9h\xC3\xA9\rx\xC3\xA4\n", "x\xC3\xA4h\xC3\xA9\n", true},
      {"\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\rab\n", "ab\xE2\x96\x88\n", true},
      {"\x1b(Btext\x1b=\x1bM\n", "text\n", false},
      {"tabs\tand \x01 others stay\n", "tabs\tand \x01 others stay\n", false},
      {"cut \x1b[3\nnext\n", "cut \nnext\n", false},
      {"cut \x1b]0;title\nnext\n", "cut \nnext\n", false},
  }));
  CAPTURE(bytes);
  for (const size_t part : {std::string::npos, size_t{1}, size_t{3}}) {
    CAPTURE(part);
    const Shown all = displayed(bytes, part);
    CHECK(all.text == text);
    CHECK(all.has_overwritten == has_overwritten);
  }
}

TEST_CASE("a bar of two thousand updates is its last state", "[terminal]") {
  std::string bytes;
  for (int i = 0; i <= 2000; i++) bytes += "\r" + std::to_string(i) + "/2000 [" + std::string(20, '#') + "]";
  CHECK(displayed(bytes + "\nend").text == "2000/2000 [####################]\nend");
}

TEST_CASE("lines longer than a terminal's pass through, and titles without end do too", "[terminal]") {
  const std::string line(100'000, 'x');
  CHECK(displayed(line).text == line);
  CHECK(displayed(line + "\n" + line).text == line + "\n" + line);
  const std::string title = "\x1b]0;" + std::string(100'000, 't');
  CHECK(displayed(title + "\nend").text.ends_with("\nend"));
  CHECK(displayed(title).text.size() > 90'000);
}

// A megabyte of the worst bytes takes tens of milliseconds: work for each byte that grows with the text would take
// hours.
TEST_CASE("hostile output ends", "[terminal]") {
  for (const std::string_view unit :
       {"\b", "\rX", "\r\xC3\xA9\rx", "\x1b[", "\x1b[999C", "\x1b[D", "\x1b[2K", "\x1b]", "x\b"}) {
    std::string bytes(1000, 'y');
    while (bytes.size() < 1 << 20) bytes += unit;
    CAPTURE(unit);
    CHECK(displayed(bytes, 65'536).text.size() <= bytes.size());
  }
}
