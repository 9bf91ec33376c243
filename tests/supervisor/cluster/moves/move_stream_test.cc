// The connection of a move has limits of time, and what has begun goes on without its caller.
#include "supervisor/cluster/moves/move_stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>

#include "supervisor/base/run_to_end.h"
#include "tests/catch.h"

namespace {

using namespace std::chrono_literals;

const auto kStopped = fail(Code::unavailable, "the daemon ends");

struct StreamScene {
  Loop loop;
  AsyncFd here;
  Fd there;
  Scope tasks{loop};

  StreamScene() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    here = AsyncFd::adopt(loop, Fd(ends[0])).value();
    there = Fd(ends[1]);
  }
  template <class T>
  static Task<> keep(Task<T> work, std::optional<T>& result) {
    result.emplace(co_await std::move(work));
  }
  // False: after 20 s.
  bool until(const std::function<bool()>& done) {
    bool is_late = false;
    const Deadline late(loop, 20s, [&is_late] { is_late = true; });
    loop.run_until([&] { return is_late || done(); });
    return !is_late;
  }
  static Task<Result<int>> work_until(std::shared_ptr<Event> go, bool& is_done) {
    co_await *go;
    is_done = true;
    co_return 7;
  }
};

}  // namespace

TEST_CASE_METHOD(StreamScene, "a part that does not come, or is not read, ends the connection in time", "[cluster]") {
  std::optional<Result<std::string>> received;
  std::optional<Result<>> sent;
  SECTION("it does not come") {
    REQUIRE(::send(there.get(), "half", 4, 0) == 4);
    tasks.spawn(keep(moves::receive_bytes(loop, here, 8, 20ms), received));
    REQUIRE(until([&] { return received.has_value(); }));
    CHECK_FALSE(*received);
  }
  SECTION("it is not read") {
    tasks.spawn(keep(moves::send_bytes(loop, here, std::string(8 << 20, 'x'), 20ms), sent));
    REQUIRE(until([&] { return sent.has_value(); }));
    CHECK_FALSE(*sent);
  }
  SECTION("both are whole in time") {
    tasks.spawn(keep(moves::receive_bytes(loop, here, 8, 20s), received));
    REQUIRE(::send(there.get(), "12345678", 8, 0) == 8);
    REQUIRE(until([&] { return received.has_value(); }));
    CHECK(received->value() == "12345678");
    tasks.spawn(keep(moves::send_bytes(loop, here, "x", 20s), sent));
    REQUIRE(until([&] { return sent.has_value(); }));
    CHECK(*sent);
  }
}

TEST_CASE_METHOD(StreamScene, "work goes on when its caller is cancelled, and its result reaches one that waits",
                 "[cluster]") {
  bool is_done = false;
  const auto go = std::make_shared<Event>();
  std::optional<Result<int>> result;
  {
    Scope caller(loop);
    caller.spawn(keep(run_to_end(loop, tasks, work_until(go, is_done), kStopped), result));
  }
  go->fire();
  REQUIRE(until([&] { return is_done; }));
  CHECK_FALSE(result);
  const auto second = std::make_shared<Event>();
  Scope caller(loop);
  caller.spawn(keep(run_to_end(loop, tasks, work_until(second, is_done), kStopped), result));
  second->fire();
  REQUIRE(until([&] { return result.has_value(); }));
  CHECK(result->value() == 7);
}

TEST_CASE_METHOD(StreamScene, "the end of the scope is an error of the caller", "[cluster]") {
  bool is_done = false;
  std::optional<Result<int>> result;
  auto ending = std::make_unique<Scope>(loop);
  tasks.spawn(keep(run_to_end(loop, *ending, work_until(std::make_shared<Event>(), is_done), kStopped), result));
  ending.reset();
  REQUIRE(until([&] { return result.has_value(); }));
  CHECK(result->error().code == Code::unavailable);
}
