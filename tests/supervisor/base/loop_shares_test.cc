// Parts of the loop: who has had its part waits while others want theirs, in the order of asking.
#include "supervisor/base/loop_shares.h"

#include <vector>

#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

Monotonic::time_point time_now;
Monotonic::time_point fake_clock() { return time_now; }

struct Shares {
  Loop loop;
  LoopShares shares{loop, &fake_clock};
  std::shared_ptr<LoopShare> heavy = shares.of("heavy"), light = shares.of("light");

  Shares() { time_now = Monotonic::time_point(1h); }
  void use(LoopShare& share, std::chrono::microseconds time) {
    const LoopShare::Use use(share);
    time_now += time;
  }
  void next_turn() {
    const auto before = loop.turn();
    loop.defer([] {});
    loop.run_until([&] { return loop.turn() > before; });
  }
  // The owner's next message may be read in a turn of its own.
  bool may_use(LoopShare& share) {
    next_turn();
    return !share.is_used_up();
  }
};

Task<> wait_for_turn(LoopShare& share, std::vector<int>& order, int number, Shares* user = nullptr) {
  co_await share.turn();
  order.push_back(number);
  if (user) user->use(share, 1ms);
}

}  // namespace

TEST_CASE("one name is one share") {
  Shares all;
  CHECK(all.shares.of("heavy") == all.heavy);
  CHECK(all.shares.of("light") != all.heavy);
}

TEST_CASE("an owner that is alone has as much as it can use, and lets others in between") {
  Shares all;
  for (int i = 0; i < 100; i++) {
    REQUIRE(all.may_use(*all.heavy));
    all.use(*all.heavy, 400us);
    REQUIRE_FALSE(all.heavy->is_used_up());
    all.use(*all.heavy, 200us);
    REQUIRE(all.heavy->is_used_up());  // for this turn
  }
}

TEST_CASE("while another one wants the loop, an owner has a third of it") {
  Shares all;
  std::chrono::microseconds used{0};
  const auto started = time_now;
  while (time_now - started < 3s) {
    all.use(*all.light, 10us);
    REQUIRE(all.may_use(*all.light));
    if (all.heavy->is_used_up()) {
      time_now += 1ms;
    } else {
      all.use(*all.heavy, 300us);
      used += 300us;
    }
    all.next_turn();
  }
  CHECK(used > 950ms);
  CHECK(used < 1'050ms);
}

TEST_CASE("ten that ask for more than their part leave the others a sixth") {
  Shares all;
  std::vector<std::shared_ptr<LoopShare>> many;
  for (int i = 0; i < 10; i++) many.push_back(all.shares.of("heavy" + std::to_string(i)));
  std::chrono::microseconds used{0};
  const auto started = time_now;
  while (time_now - started < 6s) {
    all.use(*all.light, 10us);
    bool any = false;
    for (const auto& item : many) {
      if (item->is_used_up()) continue;
      any = true;
      all.use(*item, 300us);
      used += 300us;
    }
    if (!any) time_now += 1ms;
    all.next_turn();
  }
  CHECK(used > 4'500ms);  // of 6 s, the first 20 ms of each beside it
  CHECK(used < 5'500ms);
}

TEST_CASE("what nobody else wanted is no debt") {
  Shares all;
  for (int i = 0; i < 1000; i++) {
    all.next_turn();
    REQUIRE_FALSE(all.heavy->is_used_up());
    all.use(*all.heavy, 300us);
  }
  all.use(*all.light, 10us);
  all.next_turn();
  (void)all.heavy->is_used_up();
  time_now += 2ms;
  CHECK(all.may_use(*all.heavy));
}

TEST_CASE("one piece of work that took long is paid for, a second of it at most") {
  Shares all;
  all.use(*all.heavy, 1h);
  for (int i = 0; i < 28; i++) {
    time_now += 100ms;
    all.use(*all.light, 10us);
    REQUIRE_FALSE(all.may_use(*all.heavy));
  }
  time_now += 300ms;
  all.use(*all.light, 10us);
  CHECK(all.may_use(*all.heavy));
}

TEST_CASE("turns come in the order of asking, in one turn as many as there is time for") {
  Shares all;
  std::vector<int> order;
  for (int i = 0; i < 4; i++) all.loop.spawn(wait_for_turn(*all.heavy, order, i, &all));
  CHECK(all.heavy->waiting() == 4);
  CHECK(order.empty());
  for (size_t n = 1; n <= 4; n++) {
    all.loop.run_until([&] { return order.size() >= n; });
    CHECK(order.size() == n);  // each used 1 ms, which is more than a turn has
  }
  CHECK(order == std::vector{0, 1, 2, 3});
}

TEST_CASE("who waits for credit is woken when there is some") {
  Shares all;
  all.use(*all.heavy, 25ms);
  all.use(*all.light, 10us);
  std::vector<int> order;
  all.loop.spawn(wait_for_turn(*all.heavy, order, 1));
  for (int i = 0; i < 3; i++) all.next_turn();
  CHECK(order.empty());
  time_now += 3 * 5ms + 1ms;  // a third of it is credit
  all.loop.run_until([&] { return !order.empty(); });
}

TEST_CASE("who was cancelled while it waited takes nobody's turn") {
  Shares all;
  std::vector<int> order;
  {
    const auto cancelled = start(wait_for_turn(*all.heavy, order, 1));
    all.loop.spawn(wait_for_turn(*all.heavy, order, 2));
  }
  all.loop.run_until([&] { return !order.empty(); });
  CHECK(order == std::vector{2});
}

TEST_CASE("an owner may go with those who waited") {
  Shares all;
  std::vector<int> order;
  {
    const auto share = all.shares.of("short");
    const auto cancelled = start(wait_for_turn(*share, order, 1));
  }
  all.next_turn();
  CHECK(order.empty());
  CHECK(all.shares.of("short")->waiting() == 0);
}

TEST_CASE("whoever is woken may be the last who needed the owner") {
  Shares all;
  bool is_done = false;
  all.loop.spawn([](LoopShares& shares, bool& done) -> Task<> {
    auto share = shares.of("short");
    co_await share->turn();
    share.reset();
    done = true;
  }(all.shares, is_done));
  all.loop.run_until([&] { return is_done; });
  CHECK(all.shares.of("short")->waiting() == 0);
}

TEST_CASE("a share may outlive the shares") {
  Loop loop;
  auto shares = std::make_unique<LoopShares>(loop);
  const auto share = shares->of("late");
  shares.reset();
  { const LoopShare::Use use(*share); }
  CHECK_FALSE(share->is_used_up());
}

TEST_CASE("who comes while others of its owner wait comes after them") {
  Shares all;
  std::vector<int> order;
  all.loop.spawn(wait_for_turn(*all.heavy, order, 1));
  CHECK(all.heavy->is_used_up());
  CHECK_FALSE(all.light->is_used_up());
  all.loop.run_until([&] { return !order.empty(); });
  CHECK_FALSE(all.heavy->is_used_up());
}
