#include "supervisor/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "supervisor/base/fd.h"
#include "tests/catch.h"

namespace {
// What stderr gets while this lives.
class Captured {
 public:
  Captured() {
    int pair[2];
    REQUIRE(::pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0);
    read_.reset(pair[0]);
    Fd write(pair[1]);
    saved_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    ::dup2(write.get(), STDERR_FILENO);
  }
  ~Captured() { ::dup2(saved_.get(), STDERR_FILENO); }
  std::string text() {
    std::string out(65536, '\0');
    const ssize_t n = ::read(read_.get(), out.data(), out.size());
    out.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return out;
  }

 private:
  Fd read_, saved_;
};
}  // namespace

TEST_CASE("printable shows untrusted bytes without trusting them", "[log]") {
  CHECK(printable("plain text!") == "plain text!");
  CHECK(printable("a\nb\x1b[31m\\") == "a\\x0ab\\x1b[31m\\x5c");
  CHECK(printable("\xc3\xa9") == "\\xc3\\xa9");
  CHECK(printable(std::string("\0", 1)) == "\\x00");
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("log levels have names", "[log]") {
  LogLevel level{};
  CHECK(parse_log_level("debug", level));
  CHECK(level == LogLevel::debug);
  CHECK(parse_log_level("error", level));
  CHECK(level == LogLevel::error);
  for (auto wrong : {"", "DEBUG", "fatal", "7"}) CHECK_FALSE(parse_log_level(wrong, level));
}

TEST_CASE("a line is written when its level is wanted", "[log]") {
  const LogLevel before = log_level();
  std::string text;
  {
    Captured captured;
    set_log_level(LogLevel::warning);
    log_warning("seen {}", 1);
    log_info("unseen");
    set_log_level(LogLevel::info);
    log_info("seen {}", 2);
    text = captured.text();
  }
  set_log_level(before);
  CHECK(text.find("seen 1\n") != text.npos);
  CHECK(text.find("unseen") == text.npos);
  CHECK(text.find("seen 2\n") != text.npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}
