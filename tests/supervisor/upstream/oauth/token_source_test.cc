// The end of a login's token by the clocks: the wall clock and the elapsed time, whichever is first.
#include "supervisor/upstream/oauth/token_source.h"

#include <fcntl.h>

#include "supervisor/base/elapsed_clock.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

namespace {

constexpr int64_t kMinute = 60'000, kDay = ElapsedClock::kDayMs;  // ms

struct LoggedIn {
  TempDirectory folder;
  Fd fd{::open(std::string(folder.path()).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  Loop loop;
  std::unique_ptr<WorkerThread> disk = WorkerThread::start(loop).value();
  std::shared_ptr<oauth::LoginBook> book = std::make_shared<oauth::LoginBook>(loop, *disk, fd.get(), oauth::SealKey{});
  std::shared_ptr<oauth::TokenSource> source;

  LoggedIn() {
    loop.spawn(book->read());
    oauth::TokenTarget target;
    target.server = "far";
    target.url = "https://far.example/mcp";
    source = std::make_shared<oauth::TokenSource>(book, target, "");
  }
  ~LoggedIn() { book->close(); }
  // A token that cannot be renewed.
  void log_in(int64_t expires_at) {
    oauth::Tokens tokens;
    tokens.access = "a";
    tokens.resource = "https://far.example/mcp";
    tokens.expires_at = expires_at;
    REQUIRE(await(loop, book->keep({"far", ""}, tokens)));
  }
  bool is_usable() { return await(loop, source->token()).has_value(); }
};

// The machine's clocks, while the daemon has seen a wall clock that was `ahead` of the one now.
MachineClocks clocks_before(int64_t ahead) {
  MachineClocks clocks = read_clocks();
  clocks.boot_id = "boot";
  clocks.wall_ms += ahead;
  return clocks;
}

}  // namespace

TEST_CASE_METHOD(LoggedIn, "a clock set back prolongs no token", "[oauth]") {
  const int64_t back = GENERATE(kDay / 24, 400 * kDay);
  MachineClocks now = clocks_before(back);
  ElapsedClock clock({}, {}, now);
  log_in(oauth::seconds_now() + 10 * 60);
  CHECK(is_usable());
  now.wall_ms -= back;  // set back; from now on, the time passes
  now.boot_ms += 5 * kMinute, now.wall_ms += 5 * kMinute;
  clock.update(now);
  CHECK(is_usable());
  now.boot_ms += 6 * kMinute, now.wall_ms += 6 * kMinute;
  clock.update(now);
  CHECK_FALSE(is_usable());
}

TEST_CASE_METHOD(LoggedIn, "a clock that is 400 days ahead ends a token at once", "[oauth]") {
  const MachineClocks before = clocks_before(-400 * kDay);
  const ElapsedClock clock({}, {}, before);
  log_in(before.wall_ms / 1000 + 10 * 60);
  CHECK_FALSE(is_usable());
  log_in(oauth::seconds_now() + 10 * 60);
  CHECK(is_usable());
}
