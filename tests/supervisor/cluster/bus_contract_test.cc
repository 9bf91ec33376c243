// What bus.h promises, for each implementation: this file is compiled with memory_scene.cc and with nats_scene.cc.
#include <fmt/format.h>

#include "bus_scene.h"
#include "supervisor/cluster/bus/subjects.h"
#include "tests/catch.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

struct BusContract {
  std::unique_ptr<BusScene> scene = BusScene::make();
  std::unique_ptr<Bus> one = scene->connect("n1"), two = scene->connect("n2");

  std::unique_ptr<BusSubscription> subscribe(Bus& bus, const std::string& filter, const std::string& group = {},
                                             SubscriptionBounds bounds = {}) {
    auto created = bus.subscribe(filter, group, bounds);
    REQUIRE(created);
    flush(bus);
    return *std::move(created);
  }
  void flush(Bus& bus) { REQUIRE(scene->run(bus.flush(10s), "a flush")); }
  BusMessage next(BusSubscription& subscription) {
    auto message = scene->run(subscription.next(), "a message");
    REQUIRE(message);
    return *std::move(message);
  }
  Result<BusMessage> ask(Bus& bus, const std::string& subject, const std::string& bytes,
                         std::chrono::milliseconds timeout = 10s) {
    return scene->run(bus.request(subject, bytes, timeout), "a request");
  }
  std::unique_ptr<KvBucket> open(Bus& bus, const std::string& name = "homes", BucketSettings settings = {}) {
    auto bucket = scene->run(bus.open_bucket(name, settings, 5s), "a bucket");
    INFO((bucket ? "" : bucket.error().what));
    REQUIRE(bucket);
    return *std::move(bucket);
  }
  std::string change(KvWatch& watch) {  // "key=value", "key removed", "current"
    auto next = scene->run(watch.next(), "a change");
    REQUIRE(next);
    if (next->kind == KvChange::Kind::current) return "current";
    return next->kind == KvChange::Kind::removed ? next->key + " removed" : next->key + "=" + next->bytes;
  }
  // Changes up to and with `last`, joined.
  std::string changes_until(KvWatch& watch, const std::string& last) {
    std::string all;
    for (int i = 0; i < 100; i++) {
      const std::string text = change(watch);
      all += (all.empty() ? "" : ", ") + text;
      if (text == last) return all;
    }
    return all + " and more";
  }
  void until_connected() {
    scene->until([this] { return one->state() == BusState::connected && two->state() == BusState::connected; },
                 "both connections");
  }
};

// Answers each message with "<node> got <bytes>".
Task<> answer_all(Bus& bus, BusSubscription& subscription, std::string node) {
  for (;;) {
    const auto message = co_await subscription.next();
    if (!message) co_return;
    (void)respond(bus, *message, node + " got " + message->bytes);
  }
}

Task<> note_error(Task<Result<BusMessage>> task, std::vector<std::string>& errors) {
  const auto result = co_await std::move(task);
  errors.push_back(result ? "no error" : std::string(code_name(result.error().code)));
}
Task<> note_change_error(Task<Result<KvChange>> task, std::vector<std::string>& errors) {
  const auto result = co_await std::move(task);
  errors.push_back(result ? "no error" : std::string(code_name(result.error().code)));
}
Task<> note_write_error(Task<Result<uint64_t>> task, std::vector<std::string>& errors) {
  const auto result = co_await std::move(task);
  errors.push_back(result ? "no error" : std::string(code_name(result.error().code)));
}

}  // namespace

TEST_CASE("messages arrive in order and whole", "[bus]") {
  BusContract bus;
  auto all = bus.subscribe(*bus.two, "w1.node.*");
  const std::string binary("a\0\r\n\xff", 5);
  for (int i = 0; i < 100; i++) REQUIRE(bus.one->publish("w1.node.n2", std::to_string(i)));
  REQUIRE(bus.one->publish("w1.node.n3", binary, "_INBOX.n1.reply"));
  REQUIRE(bus.one->publish("w1.other", "not for it"));
  REQUIRE(bus.one->publish("w1.node.n4", ""));
  for (int i = 0; i < 100; i++) CHECK(bus.next(*all).bytes == std::to_string(i));
  const BusMessage last = bus.next(*all);
  CHECK(last.subject == "w1.node.n3");
  CHECK(last.reply == "_INBOX.n1.reply");
  CHECK(last.bytes == binary);
  CHECK(bus.next(*all).bytes.empty());
  CHECK(bus.one->stats().published == 103);
}

TEST_CASE("of a group, one member gets each message; the others get all", "[bus]") {
  BusContract bus;
  auto remaining = bus.subscribe(*bus.one, "w1.place", "sched");
  auto right = bus.subscribe(*bus.two, "w1.place", "sched");
  auto all = bus.subscribe(*bus.two, "w1.>");
  for (int i = 0; i < 50; i++) REQUIRE(bus.one->publish("w1.place", "x"));
  for (int i = 0; i < 50; i++) bus.next(*all);
  bus.flush(*bus.one);
  bus.flush(*bus.two);
  size_t used = 0;
  std::vector<std::string> errors;
  Scope scope(bus.scene->loop);
  struct Count {
    static Task<> of(BusSubscription& from, size_t& count) {
      for (;;) {
        const auto message = co_await from.next();
        if (!message) co_return;
        count++;
      }
    }
  };
  scope.spawn(Count::of(*remaining, used));
  scope.spawn(Count::of(*right, used));
  bus.scene->until([&used] { return used == 50; }, "each message once");
  bus.flush(*bus.two);
  CHECK(used == 50);
}

TEST_CASE("requests are answered, many at once", "[bus]") {
  BusContract bus;
  auto orders = bus.subscribe(*bus.two, "w1.node.n2");
  Scope scope(bus.scene->loop);
  scope.spawn(answer_all(*bus.two, *orders, "n2"));
  std::vector<std::string> answers;
  struct Asker {
    static Task<> ask(Bus& from, int i, std::vector<std::string>& into) {
      const auto answer = co_await from.request("w1.node.n2", std::to_string(i), 10s);
      into.push_back(answer ? answer->bytes : answer.error().what);
      if (answer && answer->bytes != fmt::format("n2 got {}", i)) into.push_back("wrong");
    }
  };
  for (int i = 0; i < 200; i++) scope.spawn(Asker::ask(*bus.one, i, answers));
  bus.scene->until([&answers] { return answers.size() >= 200; }, "200 answers");
  std::sort(answers.begin(), answers.end());
  CHECK(std::unique(answers.begin(), answers.end()) == answers.end());
  CHECK(answers.front() == "n2 got 0");
  CHECK(bus.one->stats().unknown_replies == 0);
}

TEST_CASE("a request that nobody receives fails at once, one without an answer after its time", "[bus]") {
  BusContract bus;
  const auto begin = Monotonic::now();
  const auto refused = bus.ask(*bus.one, "w1.node.n9", "x");
  REQUIRE_FALSE(refused);
  CHECK(no_responders(refused.error()));
  CHECK_FALSE(after_timeout(refused.error()));
  CHECK(Monotonic::now() - begin < 5s);
  auto silent = bus.subscribe(*bus.two, "w1.node.n2");
  const auto late = bus.ask(*bus.one, "w1.node.n2", "x", 100ms);
  REQUIRE_FALSE(late);
  CHECK(after_timeout(late.error()));
  CHECK(late.error().code == Code::unavailable);
  REQUIRE(respond(*bus.two, bus.next(*silent), "too late"));
  bus.flush(*bus.two);
  bus.flush(*bus.one);
  CHECK(bus.one->stats().unknown_replies == 1);
}

TEST_CASE("a message may have max_payload bytes, and not one more", "[bus]") {
  BusContract bus;
  auto all = bus.subscribe(*bus.two, "w1.large");
  REQUIRE(bus.one->max_payload() == 1 << 20);
  REQUIRE(bus.one->publish("w1.large", std::string(1 << 20, 'x')));
  const auto refused = bus.one->publish("w1.large", std::string((1 << 20) + 1, 'x'));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().hint == "at most 1048576 bytes are permitted; send it in parts");
  const auto request = bus.ask(*bus.one, "w1.large", std::string((1 << 20) + 1, 'x'));
  REQUIRE_FALSE(request);
  CHECK(request.error().code == Code::invalid);
  CHECK(bus.next(*all).bytes.size() == 1 << 20);
  CHECK(bus.one->state() == BusState::connected);
}

TEST_CASE("subjects of others' interfaces are refused", "[bus]") {
  BusContract bus;
  CHECK_FALSE(bus.one->publish("$JS.API.STREAM.DELETE.KV_homes", ""));
  CHECK_FALSE(bus.one->publish("w1.*", ""));
  CHECK_FALSE(bus.one->publish("w1.node", "", "w1..x"));
  CHECK_FALSE(bus.one->subscribe("w1.>.x"));
  CHECK_FALSE(bus.one->subscribe("w1.x", "two words"));
  CHECK_FALSE(bus.ask(*bus.one, "w1 x", ""));
  BusMessage message;
  message.subject = "w1.node.n1";
  CHECK_FALSE(respond(*bus.one, message, "answer"));
  for (const char* reply : {"w1.node.n2", "$JS.API.STREAM.DELETE.KV_homes", "_INBOX.*", "_INBOX"}) {
    message.reply = reply;
    const auto refused = respond(*bus.one, message, "answer");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::invalid);
  }
}

TEST_CASE("a slow reader's messages are bounded, and it is told how many it lost", "[bus]") {
  BusContract bus;
  auto few = bus.subscribe(*bus.two, "w1.many", {}, {.max_messages = 10, .max_bytes = 1 << 20});
  auto small = bus.subscribe(*bus.two, "w1.many", {}, {.max_messages = 1000, .max_bytes = 5'000});
  auto all = bus.subscribe(*bus.two, "w1.many");
  for (int i = 0; i < 100; i++) REQUIRE(bus.one->publish("w1.many", std::string(1000, 'x')));
  for (int i = 0; i < 100; i++) bus.next(*all);
  bus.flush(*bus.two);
  CHECK(few->dropped() == 90);
  CHECK(small->dropped() == 96);
  CHECK(bus.two->stats().dropped == 186);
  for (int i = 0; i < 10; i++) CHECK(bus.next(*few).dropped_before == 0);
  REQUIRE(bus.one->publish("w1.many", "next"));
  const BusMessage next = bus.next(*few);
  CHECK(next.bytes == "next");
  CHECK(next.dropped_before == 90);
}

TEST_CASE("an ended subscription gets nothing", "[bus]") {
  BusContract bus;
  auto first = bus.subscribe(*bus.two, "w1.x");
  auto second = bus.subscribe(*bus.two, "w1.x");
  first.reset();
  bus.flush(*bus.two);
  REQUIRE(bus.one->publish("w1.x", "m"));
  CHECK(bus.next(*second).bytes == "m");
  second.reset();
  bus.flush(*bus.two);
  const auto refused = bus.ask(*bus.one, "w1.x", "m");
  REQUIRE_FALSE(refused);
  CHECK(no_responders(refused.error()));
}

TEST_CASE("a bucket's values are written by revision", "[bus]") {
  BusContract bus;
  auto first = bus.open(*bus.one);
  auto second = bus.open(*bus.two);  // exists already
  auto& run = *bus.scene;
  const std::string key = tenant_key("acme", "re ports");
  CHECK_FALSE(run.run(first->get(key))->has_value());
  const auto created = run.run(first->create(key, std::string("n1\0", 3)));
  REQUIRE((created && created->written));
  const auto retry = run.run(second->create(key, "n2"));
  REQUIRE(retry);
  CHECK_FALSE(retry->written);
  const auto entry = run.run(second->get(key));
  REQUIRE((entry && *entry));
  CHECK((*entry)->bytes == std::string("n1\0", 3));
  CHECK((*entry)->revision == created->revision);
  const auto updated = run.run(second->update(key, "n2", created->revision));
  REQUIRE((updated && updated->written));
  CHECK(updated->revision > created->revision);
  const auto stale = run.run(first->update(key, "n1", created->revision));
  REQUIRE(stale);
  CHECK_FALSE(stale->written);
  CHECK_FALSE(run.run(first->remove(key, created->revision))->written);
  REQUIRE(run.run(first->put("other", "1")));
  CHECK(*run.run(first->keys()) == std::vector<std::string>{key, "other"});
  const auto removed = run.run(first->remove(key, updated->revision));
  REQUIRE((removed && removed->written));
  CHECK_FALSE(run.run(second->get(key))->has_value());
  CHECK(*run.run(second->keys()) == std::vector<std::string>{"other"});
  const auto remade = run.run(second->create(key, "n3"));
  REQUIRE((remade && remade->written));
  CHECK_FALSE(run.run(first->create(key, "n1"))->written);
  CHECK(run.run(first->remove("never", std::nullopt)));
}

TEST_CASE("a bucket refuses large values and wrong keys", "[bus]") {
  BusContract bus;
  auto bucket = bus.open(*bus.one, "small", {.max_value_bytes = 1000});
  CHECK(bus.scene->run(bucket->put("k", std::string(1000, 'x'))));
  const auto large = bus.scene->run(bucket->put("k", std::string(1001, 'x')));
  REQUIRE_FALSE(large);
  CHECK(large.error().code == Code::invalid);
  for (const char* key : {"", "a.*", ">", "a b", ".a", "a/b"}) {
    CHECK_FALSE(bus.scene->run(bucket->put(key, "x")));
    CHECK_FALSE(bus.scene->run(bucket->get(key)));
  }
  CHECK_FALSE(bus.scene->run(bus.one->open_bucket("a.b", {}, 5s)));
  CHECK_FALSE(bucket->watch("a..b"));
}

TEST_CASE("a watch returns what is there, then what changes", "[bus]") {
  BusContract bus;
  auto writer = bus.open(*bus.one);
  auto reader = bus.open(*bus.two);
  auto& run = *bus.scene;
  auto empty = *reader->watch("nodes.*");
  CHECK(bus.change(*empty) == "current");
  REQUIRE(run.run(writer->put("nodes.a", "1")));
  CHECK(bus.change(*empty) == "nodes.a=1");
  REQUIRE(run.run(writer->put("nodes.b", "2")));
  REQUIRE(run.run(writer->put("leases.a", "3")));
  CHECK(bus.change(*empty) == "nodes.b=2");
  REQUIRE(run.run(writer->put("nodes.c", "4")));
  REQUIRE(run.run(writer->remove("nodes.a", std::nullopt)));
  CHECK(bus.change(*empty) == "nodes.c=4");
  CHECK(bus.change(*empty) == "nodes.a removed");
  auto all = *reader->watch(">");
  const std::string initial = bus.changes_until(*all, "current");
  CHECK(initial == "nodes.b=2, leases.a=3, nodes.c=4, current");
  for (int i = 0; i < 100; i++) REQUIRE(run.run(writer->put("nodes.b", std::to_string(i))));
  bus.changes_until(*all, "nodes.b=99");
}

TEST_CASE("a watch that is too large ends with an error", "[bus]") {
  BusContract bus;
  auto bucket = bus.open(*bus.one, "large", {.max_watched_bytes = 10'000});
  for (int i = 0; i < 20; i++) REQUIRE(bus.scene->run(bucket->put(fmt::format("k{}", i), std::string(1000, 'x'))));
  auto watch = *bucket->watch(">");
  bus.flush(*bus.one);
  Result<KvChange> change = KvChange();
  for (int i = 0; i < 25 && change; i++) {
    bus.scene->run(bucket->get("k1"));  // does not read meanwhile
    if (i > 2) change = bus.scene->run(watch->next());
  }
  REQUIRE_FALSE(change);
  CHECK(change.error().code == Code::exhausted);
}

TEST_CASE("after a loss of the connection all goes on, and watches miss nothing", "[bus]") {
  BusContract bus;
  auto& run = *bus.scene;
  auto messages = bus.subscribe(*bus.two, "w1.x");
  auto writer = bus.open(*bus.one);
  auto reader = bus.open(*bus.two);
  for (const char* key : {"kept", "changed", "removed"}) REQUIRE(run.run(writer->put(key, "1")));
  auto watch = *reader->watch(">");
  CHECK(bus.changes_until(*watch, "current") == "kept=1, changed=1, removed=1, current");
  std::string states;
  const auto position = bus.two->observers().add([&states](const BusNotice& notice) {
    states += std::string(bus_state_name(notice.state)) + " ";
    CHECK_FALSE(notice.text.empty());
  });
  bus.scene->lose_connections();
  bus.scene->until(
      [&bus] { return bus.one->state() != BusState::connected && bus.two->state() != BusState::connected; },
      "the loss of both connections");
  const auto refused = bus.ask(*bus.one, "w1.x", "never sent");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::unavailable);
  CHECK_FALSE(after_timeout(refused.error()));
  CHECK_FALSE(run.run(writer->put("changed", "2")));
  REQUIRE(bus.one->publish("w1.x", "sent during the loss"));
  Result<> full;
  for (int i = 0; i < 10 && full; i++) full = bus.one->publish("w1.nobody", std::string(1 << 20, 'x'));
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Code::exhausted);
  bus.scene->restore_connections();
  bus.scene->until([&bus] { return bus.one->state() == BusState::connected; }, "the first connection");
  for (;;) {  // JetStream comes a little later than the server
    if (run.run(writer->put("changed", "2"))) break;
  }
  REQUIRE(run.run(writer->remove("removed", std::nullopt)));
  REQUIRE(run.run(writer->put("new", "3")));
  bus.until_connected();
  std::string seen = bus.changes_until(*watch, "new=3");
  CHECK(seen.find("changed=2") != seen.npos);
  CHECK(seen.find("removed removed") != seen.npos);
  CHECK(seen.find("kept") == seen.npos);
  if (bus.one->stats().published > 0) CHECK(states.find("reconnecting connected ") == 0);
  CHECK(bus.two->stats().reconnects == 1);
  REQUIRE(bus.one->publish("w1.x", "afterwards"));
  std::string got = bus.next(*messages).bytes;  // what was sent during the loss may come before the subscription
  if (got == "sent during the loss") got = bus.next(*messages).bytes;
  CHECK(got == "afterwards");
}

TEST_CASE("after a server that stopped for 4 s, all goes on", "[bus]") {
  BusContract bus;
  auto messages = bus.subscribe(*bus.two, "w1.x");
  auto bucket = bus.open(*bus.one);
  auto other = bus.open(*bus.two);
  auto watch = *bucket->watch(">");
  CHECK(bus.change(*watch) == "current");
  bus.scene->stall(4s);
  bus.until_connected();
  for (;;) {
    if (bus.scene->run(other->put("k", "1"))) break;
  }
  CHECK(bus.changes_until(*watch, "k=1").find("k=1") != std::string::npos);
  bus.flush(*bus.two);
  REQUIRE(bus.one->publish("w1.x", "after"));
  CHECK(bus.next(*messages).bytes == "after");
}

TEST_CASE("a bus may be destroyed while everything is under way", "[bus]") {
  BusContract bus;
  std::vector<std::string> errors;
  auto silent = bus.subscribe(*bus.two, "w1.silent");
  auto messages = bus.subscribe(*bus.one, "w1.x");
  auto bucket = bus.open(*bus.one);
  auto watch = *bucket->watch(">");
  CHECK(bus.change(*watch) == "current");
  Scope scope(bus.scene->loop);
  scope.spawn(note_error(bus.one->request("w1.silent", "x", 10s), errors));
  scope.spawn(note_error(messages->next(), errors));
  scope.spawn(note_change_error(watch->next(), errors));
  scope.spawn(note_write_error(bucket->put("k", "v"), errors));
  for (int i = 0; i < 1000; i++) REQUIRE(bus.one->publish("w1.x", std::string(1000, 'x')));
  bus.one.reset();
  bus.scene->until([&errors] { return errors.size() == 4; }, "the errors of all tasks");
  for (const std::string& error : errors) CHECK((error == "unavailable" || error == "no error"));
  CHECK(std::count(errors.begin(), errors.end(), "no error") <= 1);  // the first of the 1,000 messages
  CHECK_FALSE(bus.scene->run(bucket->get("k")));
  for (int i = 0; i < 1001; i++)  // what came before the end may still be read
    if (!bus.scene->run(messages->next())) break;
  CHECK_FALSE(bus.scene->run(messages->next()));
  CHECK_FALSE(bus.scene->run(watch->next()));
  CHECK(bus.two->state() == BusState::connected);
}

TEST_CASE("tasks may be cancelled while everything is under way", "[bus]") {
  BusContract bus;
  std::vector<std::string> errors;
  auto silent = bus.subscribe(*bus.two, "w1.silent");
  auto bucket = bus.open(*bus.one);
  auto watch = *bucket->watch(">");
  {
    Scope scope(bus.scene->loop);
    scope.spawn(note_error(silent->next(), errors));  // first: a message may arrive without a turn of the loop
    scope.spawn(note_error(bus.one->request("w1.silent", "x", 10s), errors));
    scope.spawn(note_change_error(watch->next(), errors));
    scope.spawn(note_write_error(bucket->put("k", "v"), errors));
  }
  bus.flush(*bus.one);
  CHECK(errors.empty());
  CHECK(bus.next(*silent).bytes == "x");
  bus.changes_until(*watch, "current");
}

}  // namespace cluster
