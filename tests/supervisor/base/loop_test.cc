#include "supervisor/base/loop.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  int pair[2];
  REQUIRE(::pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0);
  return {Fd(pair[0]), Fd(pair[1])};
}

// Reads until the other side closes.
Task<> drain(AsyncFd& fd, std::string& into, bool& ended) {
  for (;;) {
    char block[512];
    const ssize_t n = ::read(fd.get(), block, sizeof block);
    if (n > 0) {
      into.append(block, static_cast<size_t>(n));
    } else if (n == 0) {
      ended = true;
      co_return;
    } else {
      co_await fd.readable();
    }
  }
}

Task<> fill(AsyncFd& fd, size_t bytes, bool& ended) {
  const std::string block(4096, 'x');
  while (bytes > 0) {
    const ssize_t n = ::write(fd.get(), block.data(), std::min(bytes, block.size()));
    if (n > 0) {
      bytes -= static_cast<size_t>(n);
    } else {
      co_await fd.writable();
    }
  }
  fd.close();
  ended = true;
}

Task<> nap(Loop& loop, std::chrono::milliseconds time, std::string& log, char mark) {
  co_await sleep_for(loop, time);
  log += mark;
}

Task<> wait_for(Event& event, bool& went_on) {
  co_await event;
  went_on = true;
}

struct OnEnd {
  bool& flag;
  ~OnEnd() { flag = true; }
};

Task<> guarded(Event& event, bool& destroyed) {
  OnEnd end{destroyed};
  co_await event;
}

Task<> buggy(Loop& loop) {
  co_await sleep_for(loop, 1ms);
  throw std::runtime_error("told in the log");
}

}  // namespace

TEST_CASE("the loop ends when nothing is left to wait for", "[loop]") {
  Loop loop;
  std::string log;
  loop.spawn(nap(loop, 20ms, log, 'b'));
  loop.spawn(nap(loop, 1ms, log, 'a'));
  loop.spawn(nap(loop, 0ms, log, '0'));
  CHECK(log == "0");  // no wait, no turn of the loop
  loop.run();
  CHECK(log == "0ab");
  CHECK(loop.live_tasks() == 0);
}

TEST_CASE("deferred work runs in a later turn, in order, also when it defers again", "[loop]") {
  Loop loop;
  std::string log;
  loop.defer([&] {
    log += '1';
    loop.defer([&] { log += '3'; });
  });
  loop.defer([&] { log += '2'; });
  CHECK(log.empty());
  loop.run();
  CHECK(log == "123");
}

TEST_CASE("stop ends a run that would go on", "[loop]") {
  Event never;  // before the loop, whose end cancels who waits for it
  bool went_on = false;
  Loop loop;
  loop.spawn(wait_for(never, went_on));
  Deadline far(loop, 1h, [] {});
  loop.defer([&] { loop.stop(); });
  loop.run();
  CHECK_FALSE(went_on);
}

TEST_CASE("a loop that goes cancels its tasks", "[loop]") {
  bool destroyed = false;
  Event never;
  {
    Loop loop;
    loop.spawn(guarded(never, destroyed));
    CHECK(loop.live_tasks() == 1);
    CHECK_FALSE(destroyed);
  }
  CHECK(destroyed);
}

TEST_CASE("an exception ends one task and leaves the rest", "[loop]") {
  Loop loop;
  std::string log;
  const LogLevel before = log_level();
  set_log_level(static_cast<LogLevel>(0));
  loop.spawn(buggy(loop));
  loop.spawn(nap(loop, 5ms, log, 'x'));
  loop.run();
  set_log_level(before);
  CHECK(log == "x");
  CHECK(loop.live_tasks() == 0);
}

TEST_CASE("a scope cancels what is left when it goes", "[loop]") {
  Loop loop;
  Event event;
  bool destroyed = false, went_on = false;
  {
    Scope scope(loop);
    scope.spawn(guarded(event, destroyed));
    scope.spawn(wait_for(event, went_on));  // an event has one waiter: the later one
    CHECK(scope.live() == 2);
  }
  CHECK(destroyed);
  event.fire();
  loop.run();
  CHECK_FALSE(went_on);
}

TEST_CASE("a scope forgets the tasks that ended", "[loop]") {
  Loop loop;
  Scope scope(loop);
  std::string log;
  for (int i = 0; i < 10; i++) scope.spawn(nap(loop, 1ms, log, '.'));
  CHECK(scope.live() == 10);
  loop.run();
  CHECK(log.size() == 10);
  CHECK(scope.live() == 0);
}

TEST_CASE("a task may destroy the scope that runs others", "[loop]") {
  Loop loop;
  Event event;
  bool destroyed = false;
  auto scope = std::make_unique<Scope>(loop);
  scope->spawn(guarded(event, destroyed));
  loop.defer([&] { scope.reset(); });
  loop.run();
  CHECK(destroyed);
}

TEST_CASE("a deadline fires once, after its time", "[loop]") {
  Loop loop;
  int fired = 0;
  const auto start = Monotonic::now();
  Deadline deadline(loop, 15ms, [&] { fired++; });
  loop.run();
  CHECK(fired == 1);
  CHECK(ms_since(start) >= 14);
}

TEST_CASE("a deadline that is destroyed never fires", "[loop]") {
  Loop loop;
  int fired = 0;
  {
    Deadline deadline(loop, 1ms, [&] { fired++; });
    Deadline moved = std::move(deadline);
  }
  std::string log;
  loop.spawn(nap(loop, 10ms, log, 'x'));
  loop.run();
  CHECK(fired == 0);
}

TEST_CASE("a deadline may be destroyed or replaced by what it calls", "[loop]") {
  Loop loop;
  int fired = 0;
  Deadline deadline;
  deadline = Deadline(loop, 1ms, [&] {
    fired++;
    deadline = Deadline(loop, 1ms, [&] {
      fired++;
      deadline = Deadline();
    });
  });
  loop.run();
  CHECK(fired == 2);
}

TEST_CASE("a pipe is read to its end while another task fills it", "[loop]") {
  Loop loop;
  Pipe pipe = make_pipe();
  auto reader = AsyncFd::adopt(loop, std::move(pipe.read));
  auto writer = AsyncFd::adopt(loop, std::move(pipe.write));
  REQUIRE(reader);
  REQUIRE(writer);
  std::string text;
  bool read_all = false, wrote_all = false;
  loop.spawn(drain(*reader, text, read_all));
  loop.spawn(fill(*writer, 1 << 20, wrote_all));  // more than a pipe holds: both sides wait
  loop.run_until([&] { return read_all; });
  CHECK(wrote_all);
  CHECK(text.size() == 1 << 20);
}

TEST_CASE("one descriptor has a reader and a writer at the same time", "[loop]") {
  Loop loop;
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
  auto ours = AsyncFd::adopt(loop, Fd(pair[0]));
  auto theirs = AsyncFd::adopt(loop, Fd(pair[1]));
  REQUIRE(ours);
  REQUIRE(theirs);
  std::string text, echo;
  bool read_all = false, wrote_all = false, echoed = false;
  auto half_close = [](Loop&, AsyncFd& fd, size_t bytes, bool& ended) -> Task<> {
    const std::string block(4096, 'y');
    while (bytes > 0) {
      const ssize_t n = ::write(fd.get(), block.data(), std::min(bytes, block.size()));
      if (n > 0) {
        bytes -= static_cast<size_t>(n);
      } else {
        co_await fd.writable();
      }
    }
    ::shutdown(fd.get(), SHUT_WR);
    ended = true;
  };
  loop.spawn(drain(*ours, echo, echoed));
  loop.spawn(half_close(loop, *ours, 1 << 20, wrote_all));
  bool theirs_wrote = false;
  loop.spawn(half_close(loop, *theirs, 3000, theirs_wrote));
  loop.spawn(drain(*theirs, text, read_all));
  loop.run_until([&] { return read_all && echoed; });
  CHECK(text.size() == 1 << 20);
  CHECK(echo.size() == 3000);
}

TEST_CASE("a task cancelled while it waits for a descriptor leaves the descriptor usable", "[loop]") {
  Loop loop;
  Pipe pipe = make_pipe();
  auto reader = AsyncFd::adopt(loop, std::move(pipe.read));
  REQUIRE(reader);
  std::string lost, text;
  bool ended = false;
  {
    Scope scope(loop);
    scope.spawn(drain(*reader, lost, ended));
  }
  REQUIRE(::write(pipe.write.get(), "hello", 5) == 5);
  pipe.write.reset();
  loop.spawn(drain(*reader, text, ended));
  loop.run_until([&] { return ended; });
  CHECK(text == "hello");
  CHECK(lost.empty());
}

TEST_CASE("a waiting writer may be cancelled by the reader that wakes first", "[loop]") {
  Loop loop;
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
  Fd peer(pair[1]);
  auto fd = AsyncFd::adopt(loop, Fd(pair[0]));
  REQUIRE(fd);
  auto writers = std::make_unique<Scope>(loop);
  bool wrote = false, woke = false;
  auto wait_writable = [](AsyncFd& f, bool& flag) -> Task<> {
    co_await f.writable();
    flag = true;
  };
  auto wait_readable = [](AsyncFd& f, std::unique_ptr<Scope>& other, bool& flag) -> Task<> {
    co_await f.readable();
    other.reset();
    f.close();  // inside of its own callback
    flag = true;
  };
  // Both are ready in the same turn.
  REQUIRE(::write(peer.get(), "x", 1) == 1);
  loop.spawn(wait_readable(*fd, writers, woke));
  writers->spawn(wait_writable(*fd, wrote));
  loop.run();
  CHECK(woke);
  CHECK_FALSE(wrote);
}

TEST_CASE("who waits for a closed descriptor sleeps until it is cancelled", "[loop]") {
  Loop loop;
  Pipe pipe = make_pipe();
  auto reader = AsyncFd::adopt(loop, std::move(pipe.read));
  REQUIRE(reader);
  std::string text;
  bool ended = false;
  auto scope = std::make_unique<Scope>(loop);
  scope->spawn(drain(*reader, text, ended));
  SECTION("at once") {
    reader->close();
    scope.reset();
  }
  SECTION("after libuv has freed its handle") {
    reader->close();
    pipe.write.reset();
    std::string log;
    loop.spawn(nap(loop, 1ms, log, 'x'));
    loop.run();
    scope.reset();
  }
  loop.run();
  CHECK_FALSE(ended);
}

TEST_CASE("a deadline counts from now, not from when the loop last looked", "[loop]") {
  Loop loop;
  loop.defer([] {});
  loop.run();
  const auto before = Monotonic::now();
  while (ms_since(before) < 30) {  // work that keeps the loop from looking
  }
  const auto start = Monotonic::now();
  Deadline deadline(loop, 20ms, [] {});
  loop.run();
  CHECK(ms_since(start) >= 19);
}

TEST_CASE("a descriptor closed by a task that woke in the same turn wakes nobody", "[loop]") {
  Loop loop;
  Pipe pipe = make_pipe(), other = make_pipe();
  auto first = AsyncFd::adopt(loop, std::move(pipe.read)).value();
  auto second = AsyncFd::adopt(loop, std::move(other.read)).value();
  int woken = 0;
  auto wait = [&woken](AsyncFd& mine, AsyncFd& its) -> Task<> {
    co_await mine.readable();
    woken++;
    its.close();
  };
  Scope tasks(loop);
  tasks.spawn(wait(first, second));
  tasks.spawn(wait(second, first));
  REQUIRE(::write(pipe.write.get(), "x", 1) == 1);
  REQUIRE(::write(other.write.get(), "x", 1) == 1);
  loop.run();  // ends: nobody waits for a descriptor that is open
  CHECK(woken == 1);
}

TEST_CASE("a descriptor may get the number of a closed one that another process keeps open", "[loop]") {
  Loop loop;
  Pipe old = make_pipe(), next = make_pipe();
  const Fd saved(::dup(old.read.get()));  // the open file lives on, as with another process
  const int number = old.read.get();
  {
    auto closed = AsyncFd::adopt(loop, std::move(old.read)).value();
    Scope tasks(loop);
    auto wait = [](AsyncFd& fd) -> Task<> { co_await fd.readable(); };
    tasks.spawn(wait(closed));
  }
  Fd same(::dup2(next.read.get(), number));
  REQUIRE(same.get() == number);
  auto fd = AsyncFd::adopt(loop, std::move(same)).value();
  bool woke = false;
  auto wait = [&woke](AsyncFd& waited) -> Task<> {
    co_await waited.readable();
    woke = true;
  };
  loop.spawn(wait(fd));
  REQUIRE(::write(old.write.get(), "x", 1) == 1);  // of the old one
  bool late = false;
  Deadline limit(loop, 30ms, [&late] { late = true; });
  loop.run_until([&] { return woke || late; });
  CHECK_FALSE(woke);
  REQUIRE(::write(next.write.get(), "x", 1) == 1);
  loop.run_until([&] { return woke; });
  CHECK(woke);
}

TEST_CASE("hundreds of descriptors that are ready at once all wake", "[loop]") {
  Loop loop;
  constexpr int kMany = 300;
  std::vector<AsyncFd> reading;
  std::vector<Fd> writing;
  int woken = 0;
  auto wait = [&woken](AsyncFd& fd) -> Task<> {
    co_await fd.readable();
    woken++;
  };
  for (int i = 0; i < kMany; i++) {
    Pipe pipe = make_pipe();
    REQUIRE(::write(pipe.write.get(), "x", 1) == 1);
    reading.push_back(AsyncFd::adopt(loop, std::move(pipe.read)).value());
    writing.push_back(std::move(pipe.write));
  }
  for (AsyncFd& fd : reading) loop.spawn(wait(fd));
  loop.run();
  CHECK(woken == kMany);
}

TEST_CASE("what cannot be waited for is refused", "[loop]") {
  Loop loop;
  Fd file(::open("/etc/hostname", O_RDONLY | O_CLOEXEC));
  REQUIRE(file);
  auto refused = AsyncFd::adopt(loop, std::move(file));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "epoll_ctl: Operation not permitted");
}

TEST_CASE("an empty AsyncFd and a disarmed Deadline cost nothing and break nothing", "[loop]") {
  Loop loop;
  AsyncFd fd;
  CHECK_FALSE(fd);
  Deadline deadline;
  loop.run();
}
