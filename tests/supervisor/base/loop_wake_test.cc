#include "supervisor/base/loop_wake.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/catch.h"

TEST_CASE("threads wake the loop, and no wake is lost", "[wake]") {
  constexpr int kThreads = 4, kEach = 2000;
  Loop loop;
  std::atomic<int> sent{0};
  int seen = 0, woken = 0;
  auto wake = LoopWake::open(loop, [&] {
    woken++;
    seen = sent;
  });
  REQUIRE(wake);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&sent, sender = (*wake)->sender()] {
      for (int n = 0; n < kEach; n++) {
        sent++;
        sender.send();
      }
    });
  loop.run_until([&] { return seen == kThreads * kEach; });
  for (std::thread& thread : threads) thread.join();
  CHECK(woken >= 1);
}

TEST_CASE("a sender may outlive what it wakes, which may end while it is woken", "[wake]") {
  Loop loop;
  std::unique_ptr<LoopWake> wake;
  int woken = 0;
  auto opened = LoopWake::open(loop, [&] {
    woken++;
    wake.reset();
  });
  REQUIRE(opened);
  wake = *std::move(opened);
  const LoopWake::Sender sender = wake->sender();
  sender.send();
  loop.run_until([&] { return woken == 1; });
  CHECK_FALSE(wake);
  sender.send();
  for (int turn = 0; turn < 3; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  CHECK(woken == 1);
}
