// Answers that nobody reads: bounded by user and in all, whoever else is served meanwhile, and nothing lost.
#include "supervisor/protocol/mcp/unread.h"

#include "tests/supervisor/protocol/mcp/harness.h"

using namespace std::chrono_literals;
using namespace mcp_test;
using mcp::UnreadAccount, mcp::UnreadBudget, mcp::UnreadShare;

namespace {

constexpr size_t kBig = 1 << 20;  // more than a socket takes

struct Users : Fixture {
  std::shared_ptr<mcp::Account> first = std::make_shared<mcp::Account>(), second = std::make_shared<mcp::Account>();

  explicit Users(mcp::UnreadLimits bounds) { server.unread()->set_limits(bounds); }
  std::unique_ptr<Client> connect_as(const std::shared_ptr<mcp::Account>& account) {
    mcp::Connection::Accepted accepted;
    accepted.account = account;
    return connect(std::move(accepted));
  }
  // One that asks for that many answers of kBig and reads none of them.
  std::unique_ptr<Client> deaf(const std::shared_ptr<mcp::Account>& account, int answers) {
    auto client = connect_as(account);
    client->stop_reading();
    for (int i = 0; i < answers; i++)
      client->send(modern(i, "tools/call", {{"name", "big"}, {"arguments", {{"bytes", kBig}}}}));
    settle(loop);
    return client;
  }
};

bool answers(Client& client) { return client.ask(modern("x", "server/discover"))["id"] == "x"; }

Json small_call(int id) { return modern(id, "tools/call", {{"name", "echo"}, {"arguments", {{"text", "hello"}}}}); }

}  // namespace

TEST_CASE("what a user's connections do not read is bounded for all of them together", "[mcp]") {
  Users f({10 * kBig, 100 * kBig, 30s});
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; i++) clients.push_back(f.deaf(f.first, 7));
  CHECK(f.server.unread()->bytes() >= 10 * kBig);
  CHECK(f.server.unread()->bytes() < 13 * kBig);

  auto other = f.connect_as(f.second);
  CHECK(other->ask(small_call(1))["result"]["content"][0]["text"] == "hello");
  auto same = f.connect_as(f.first);
  CHECK(answers(*same));  // what needs no handler
  same->send(small_call(1));
  CHECK(same->silent());  // until others of its user have read
  for (auto& client : clients) client->start_reading();
  for (auto& client : clients) {
    for (int i = 0; i < 7; i++) {
      const Json answer = client->message();
      CHECK(answer["id"] == i);
      CHECK(answer["result"]["content"][0]["text"].get_ref<const std::string&>().size() == kBig);
    }
  }
  CHECK(same->message()["result"]["content"][0]["text"] == "hello");
  CHECK(f.server.unread()->bytes() == 0);
}

TEST_CASE("when all together have too much, those with more than an even share wait", "[mcp]") {
  Users f({100 * kBig, 10 * kBig, 30s});
  auto greedy = f.deaf(f.first, 7), more = f.deaf(f.first, 7);
  CHECK(f.server.unread()->bytes() < 13 * kBig);
  auto modest = f.connect_as(f.second);
  for (int i = 0; i < 3; i++) CHECK(modest->ask(small_call(i))["id"] == i);
  auto waiting = f.connect_as(f.first);
  waiting->send(small_call(1));
  CHECK(waiting->silent());
  greedy->start_reading();
  more->start_reading();
  for (int i = 0; i < 7; i++) CHECK(greedy->message()["id"] == i);
  for (int i = 0; i < 7; i++) CHECK(more->message()["id"] == i);
  CHECK(waiting->message()["id"] == 1);
}

TEST_CASE("a user's connection that never reads does not hold up the others for ever", "[mcp]") {
  Users f({4 * kBig, 100 * kBig, 50ms});
  auto deaf = f.deaf(f.first, 7), also = f.deaf(f.first, 7);
  auto waiting = f.connect_as(f.first);
  waiting->send(small_call(1));
  CHECK(waiting->message()["id"] == 1);
  deaf->start_reading();
  also->start_reading();
  wait_until(f.loop, [&] { return deaf->is_closed() || also->is_closed(); });
}

TEST_CASE("answers of what was begun already are bounded, too", "[mcp]") {
  Users f({2 * kBig, 100 * kBig, 30s});
  mcp::ToolDefinition late;
  late.name = "late";
  late.description = "For tests.";
  f.server.add_tool(std::move(late), [&f](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> {
    auto event = std::make_shared<Event>();
    f.holds["late" + std::to_string(f.holds.size())] = event;
    co_await *event;
    co_return mcp::ToolResult::text(std::string(kBig, 'x'));
  });
  auto client = f.connect_as(f.first);
  client->stop_reading();
  for (int i = 0; i < 20; i++) client->send(modern(i, "tools/call", {{"name", "late"}, {"arguments", Json::object()}}));
  settle(f.loop);
  REQUIRE(f.holds.size() == 20);
  for (int i = 0; i < 20; i++) {
    f.release("late" + std::to_string(i));
    settle(f.loop);
    CHECK(f.server.unread()->bytes() <= 6 * kBig);
  }
  client->start_reading();
  CHECK(client->at_end());
}

TEST_CASE("an array of requests cannot wait for itself", "[mcp]") {
  Users f({3 * kBig, 100 * kBig, 30s});
  auto client = f.legacy("2025-03-26");
  Json array = Json::array();
  for (int i = 0; i < 6; i++) array.push_back(call(i, "big", {{"bytes", kBig}}));
  const Json answers = client->ask(array);
  REQUIRE(answers.size() == 6);
  size_t refused = 0;
  for (const Json& answer : answers) refused += answer.contains("error") ? 1 : 0;
  CHECK(refused == 3);
  CHECK(client->ask(call(9, "big", {{"bytes", kBig}}))["id"] == 9);
}

TEST_CASE("a call that waits for room is cancelled like any other", "[mcp]") {
  Users f({2 * kBig, 100 * kBig, 30s});
  auto deaf = f.deaf(f.first, 5);
  {
    auto leaving = f.connect_as(f.first);
    leaving->send(small_call(1));
    CHECK(leaving->silent());
    f.connections.back()->close();
    CHECK(leaving->at_end());
  }
  auto staying = f.connect_as(f.first);
  staying->send(small_call(2));
  CHECK(staying->silent());
  deaf->start_reading();
  CHECK(staying->message()["id"] == 2);
}

TEST_CASE("a connection that reads is not held up by its user's others that do not", "[mcp]") {
  Users f({10 * kBig, 100 * kBig, 30s});
  auto reader = f.deaf(f.first, 7);  // asks for more than it is begun with
  std::vector<std::unique_ptr<Client>> deaf;
  for (int i = 0; i < 8; i++) deaf.push_back(f.deaf(f.first, 7));
  auto late = f.connect_as(f.first);
  late->send(small_call(1));
  reader->send(small_call(8));  // asked for after the others'
  reader->start_reading();
  for (int i = 0; i < 7; i++) CHECK(reader->message()["id"] == i);
  CHECK(reader->message()["id"] == 8);
}

TEST_CASE("a connection that has read is served although others took the room that it made", "[mcp]") {
  Loop loop;
  auto budget = std::make_shared<UnreadBudget>(loop, mcp::UnreadLimits{100, 1000, 30s});
  auto account = std::make_shared<UnreadAccount>(budget);
  UnreadShare reader(account), greedy(account), silent(account);
  reader.set(40);
  greedy.set(60);
  auto first = std::make_shared<Event>(), second = std::make_shared<Event>();
  bool reader_told = false, silent_told = false;
  auto wait = [](std::shared_ptr<Event> room, bool& reported) -> Task<> {
    co_await *room;
    reported = true;
  };
  silent.wait_for_room(second);
  loop.spawn(wait(second, silent_told));
  reader.set(0);
  greedy.set(110);  // what ran already
  settle(loop);
  CHECK_FALSE(silent_told);
  CHECK_FALSE(reader.is_over());
  reader.wait_for_room(first);
  loop.spawn(wait(first, reader_told));
  settle(loop);
  CHECK(reader_told);
  CHECK_FALSE(silent_told);
  reader.set(20);  // its answer, unread
  CHECK(reader.is_over());
}

TEST_CASE("shares are counted by user and in all, and room is told in the order it was asked for", "[mcp]") {
  Loop loop;
  auto budget = std::make_shared<UnreadBudget>(loop, mcp::UnreadLimits{100, 150, 30s});
  auto account = std::make_shared<UnreadAccount>(budget), two = std::make_shared<UnreadAccount>(budget);
  CHECK_FALSE(account->is_over());
  std::optional<UnreadShare> a(account), b(account), c(two);
  a->set(60);
  b->set(39);
  CHECK_FALSE(account->is_over());
  b->set(40);
  CHECK(account->is_over());
  CHECK_FALSE(two->is_over());
  b->set(30);
  c->set(60);  // 150 in all, 75 each
  CHECK(account->is_over());
  CHECK_FALSE(two->is_over());
  c->set(80);
  CHECK(two->is_over());

  std::vector<int> report;
  auto wait = [&report](UnreadShare& share, std::shared_ptr<Event> room, int number) -> Task<> {
    share.wait_for_room(room);
    co_await *room;
    report.push_back(number);
  };
  std::optional<UnreadShare> d(two), e(two);
  e->set(1);
  auto event = std::make_shared<Event>();
  d->wait_for_room(event);
  event.reset();
  for (int i = 0; i < 3; i++) loop.spawn(wait(*d, std::make_shared<Event>(), i));
  for (int i = 3; i < 6; i++) loop.spawn(wait(*e, std::make_shared<Event>(), i));
  settle(loop);
  CHECK(report.empty());
  a->set(90);
  c->set(95);
  e->set(0);  // it has read, and 215 in all are too many for readers, too
  settle(loop);
  CHECK(report.empty());
  a->set(60);  // 185 in all: there is room for readers
  settle(loop);
  CHECK(two->is_over());
  CHECK(d->is_over());
  CHECK_FALSE(e->is_over());
  CHECK(report == std::vector<int>{3, 4, 5});
  a.reset();  // now there is room for all
  settle(loop);
  CHECK(report == std::vector<int>{3, 4, 5, 0, 1, 2});
  CHECK(budget->bytes() == 125);
  b.reset();
  c.reset();
  CHECK(budget->bytes() == 0);
}
