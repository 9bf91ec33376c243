// The faults of the bus in memory: tests that use it must be able to rely on them.
#include "memory_bus.h"

#include <fmt/format.h>

#include <algorithm>

#include "bus_scene.h"
#include "tests/catch.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

struct FaultScene {
  std::unique_ptr<BusScene> runner = BusScene::make();  // for its loop
  MemoryBroker broker{runner->loop, 42};
  std::unique_ptr<Bus> one = broker.connect("n1"), two = broker.connect("n2");
  std::unique_ptr<BusSubscription> all = *two->subscribe("w1.>");
  std::vector<std::string> got;
  Scope scope{runner->loop};

  void read_all() { scope.spawn(read(*all, got)); }
  static Task<> read(BusSubscription& from, std::vector<std::string>& into) {
    for (;;) {
      const auto message = co_await from.next();
      if (!message) co_return;
      into.push_back(message->bytes);
    }
  }
  void wait(std::chrono::milliseconds time) {
    bool over = false;
    const Deadline deadline(runner->loop, time, [&over] { over = true; });
    runner->until([&over] { return over; }, "time");
  }
  void send(int messages) {
    for (int i = 0; i < messages; i++) REQUIRE(one->publish("w1.x", fmt::format("{:04}", i)));
  }
};

}  // namespace

TEST_CASE("messages are dropped and duplicated, by a seed", "[memory_bus]") {
  FaultScene scene;
  scene.read_all();
  scene.broker.set_faults({.drop = 0.2, .duplicate = 0.2});
  scene.send(1000);
  scene.wait(50ms);
  std::vector<std::string> once = scene.got;
  CHECK(std::is_sorted(once.begin(), once.end()));
  once.erase(std::unique(once.begin(), once.end()), once.end());
  CHECK((once.size() > 700 && once.size() < 900));
  CHECK((scene.got.size() - once.size() > 80 && scene.got.size() - once.size() < 240));
  FaultScene fault_scene;
  fault_scene.read_all();
  fault_scene.broker.set_faults({.drop = 0.2, .duplicate = 0.2});
  fault_scene.send(1000);
  fault_scene.wait(50ms);
  CHECK(fault_scene.got == scene.got);
}

TEST_CASE("delays keep the order, unless they shall not", "[memory_bus]") {
  FaultScene scene;
  scene.read_all();
  scene.broker.set_faults({.min_delay = 1ms, .max_delay = 20ms});
  scene.send(50);
  CHECK(scene.got.empty());
  scene.runner->until([&scene] { return scene.got.size() == 50; }, "50 messages");
  CHECK(std::is_sorted(scene.got.begin(), scene.got.end()));
  scene.got.clear();
  scene.broker.set_faults({.min_delay = 1ms, .max_delay = 20ms, .reorder = true});
  scene.send(50);
  scene.runner->until([&scene] { return scene.got.size() == 50; }, "50 messages");
  CHECK_FALSE(std::is_sorted(scene.got.begin(), scene.got.end()));
}

TEST_CASE("a stalled client gets all of it late, and its own messages arrive late", "[memory_bus]") {
  FaultScene scene;
  scene.read_all();
  scene.broker.stall("n1");
  const auto late = scene.runner->run(scene.one->request("w1.x", "order", 50ms));
  REQUIRE_FALSE(late);
  CHECK(after_timeout(late.error()));
  CHECK(scene.one->state() == BusState::connected);
  CHECK(scene.got.empty());
  scene.broker.resume("n1");
  scene.runner->until([&scene] { return scene.got.size() == 1; }, "the late order");
  scene.broker.stall("n2");
  scene.send(2);
  scene.wait(20ms);
  CHECK(scene.got.size() == 1);
  scene.broker.resume("n2");
  scene.runner->until([&scene] { return scene.got.size() == 3; }, "held messages");
}

TEST_CASE("forged answers come first, injected messages have any subject and size", "[memory_bus]") {
  FaultScene scene;
  scene.broker.set_forger([](const BusMessage& request) -> std::optional<std::string> {
    if (request.bytes != "forge") return std::nullopt;
    return "forged";
  });
  Scope answering(scene.runner->loop);
  struct Answer {
    static Task<> all(Bus& bus, BusSubscription& from) {
      for (;;) {
        const auto message = co_await from.next();
        if (!message) co_return;
        if (message->reply.empty()) continue;
        (void)respond(bus, *message, "true");
      }
    }
  };
  answering.spawn(Answer::all(*scene.two, *scene.all));
  CHECK(scene.runner->run(scene.one->request("w1.x", "forge", 1s))->bytes == "forged");
  CHECK(scene.runner->run(scene.one->request("w1.x", "other", 1s))->bytes == "true");
  REQUIRE(scene.runner->run(scene.one->flush(1s)));
  CHECK(scene.one->stats().unknown_replies == 1);
  auto other = *scene.two->subscribe("w1.y");
  scene.broker.inject({"w1.y", "$JS.API.STREAM.DELETE.KV_homes", std::string(3 << 20, 'x')});
  const auto message = scene.runner->run(other->next());
  CHECK(message->bytes.size() == 3 << 20);
  CHECK(message->reply == "$JS.API.STREAM.DELETE.KV_homes");
  scene.broker.set_max_payload(10);
  CHECK_FALSE(scene.one->publish("w1.x", "more than ten"));
}

TEST_CASE("a write whose answer is lost may have been done", "[memory_bus]") {
  FaultScene scene;
  auto bucket = *scene.runner->run(scene.one->open_bucket("homes", {}, 5ms));
  scene.broker.set_faults({.drop = 0.4});
  int done = 0, undone = 0;
  for (int i = 0; i < 60; i++) {
    const std::string key = fmt::format("k{}", i);
    const auto created = scene.runner->run(bucket->create(key, "v"));
    if (created) continue;
    CHECK(after_timeout(created.error()));
    Result<std::optional<KvEntry>> read = fail(Code::internal, "");
    while (!read) read = scene.runner->run(bucket->get(key));
    (read->has_value() ? done : undone)++;
  }
  CHECK(done > 0);
  CHECK(undone > 0);
}

TEST_CASE("a lost bucket's keys are removed from its watches", "[memory_bus]") {
  FaultScene scene;
  auto bucket = *scene.runner->run(scene.one->open_bucket("homes", {}, 1s));
  for (const char* key : {"a", "b"}) REQUIRE(scene.runner->run(bucket->put(key, "1")));
  auto watch = *bucket->watch(">");
  for (int i = 0; i < 3; i++) REQUIRE(scene.runner->run(watch->next()));
  scene.broker.disconnect("n1");
  scene.broker.lose_bucket("homes");
  scene.broker.write_value("homes", "a", "1");  // the same revision as before
  scene.broker.reconnect("n1");
  std::string seen;
  for (int i = 0; i < 3; i++) {
    const auto change = scene.runner->run(watch->next());
    REQUIRE(change);
    seen += fmt::format("{}{} ", change->key, static_cast<int>(change->kind));
  }
  CHECK(seen == "a0 b1 2 ");
}

TEST_CASE("a refused client is closed", "[memory_bus]") {
  FaultScene scene;
  std::string notice;
  const auto position =
      scene.two->observers().add([&notice](const BusNotice& bus_notice) { notice = bus_notice.text; });
  scene.broker.refuse("n2", "its key was revoked");
  CHECK(scene.two->state() == BusState::closed);
  CHECK(notice == "its key was revoked");
  const auto refused = scene.two->publish("w1.x", "");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "the bus is closed: its key was revoked");
  CHECK_FALSE(scene.runner->run(scene.all->next()));
}

}  // namespace cluster
