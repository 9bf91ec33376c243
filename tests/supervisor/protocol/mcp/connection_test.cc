// Requests side by side: order, cancellation, progress, ends of connections, draining.
#include <sys/socket.h>

#include "supervisor/base/json/json.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;
using namespace std::chrono_literals;

TEST_CASE("answers come as they are ready, and ping does not wait for handlers", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  for (int i = 0; i < 100; i++) client->send(call(i, "hold", {{"name", std::to_string(i)}}));
  CHECK(client->ask(request("p", "ping"))["id"] == "p");
  CHECK(client->ask(request("l", "tools/list"))["id"] == "l");
  CHECK(f.reserved == 100);
  CHECK(f.server.calls() == 100);
  f.release("70");
  CHECK(client->message()["id"] == 70);
  f.release("3");
  CHECK(client->message()["id"] == 3);
  CHECK(f.reserved == 98);
}

TEST_CASE("one client waits for nothing that another one asked", "[mcp]") {
  Fixture f;
  auto first = f.legacy();
  auto second = f.legacy();
  first->send(call(1, "hold"));
  CHECK(second->ask(call(1, "echo", {{"text", "x"}}))["result"]["content"][0]["text"] == "x");
  CHECK(first->silent());
}

TEST_CASE("an id comes back exactly as it was sent", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  const Json id = GENERATE(Json(0), Json(-1), Json(9007199254740993), Json(18446744073709551615u), Json("7"), Json(""),
                           Json("a\"\\\n\u2028\u00e4"), Json(std::string(1000, 'i')));
  CHECK(client->ask(request(id, "ping"))["id"] == id);
}

TEST_CASE("cancelling a request destroys its handler and sends nothing more for it", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->send(call(1, "hold", {{"name", "a"}}));
  client->send(call("1", "hold", {{"name", "b"}}));  // another id: a string
  settle(f.loop);
  REQUIRE(f.reserved == 2);
  client->send(cancel(1));
  wait_until(f.loop, [&] { return f.reserved == 1; });
  CHECK(f.cancelled == 1);
  CHECK(client->silent());
  client->send(cancel(1));     // late
  client->send(cancel("no"));  // never was
  client->send(cancel(nullptr));
  f.release("b");
  CHECK(client->message()["id"] == "1");
  // The id is free again and the connection works.
  CHECK(client->ask(call(1, "echo", {{"text", "x"}}))["id"] == 1);
}

TEST_CASE("an id in use is not started a second time", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->send(call(1, "hold", {{"name", "a"}}));
  auto answer = client->ask(call(1, "hold", {{"name", "b"}}));
  CHECK(answer["error"]["code"] == -32600);
  CHECK_FALSE(answer.contains("id"));
  CHECK(f.reserved == 1);
}

TEST_CASE("a connection runs a limited number of handlers and still answers pings and cancels", "[mcp]") {
  Fixture f;
  f.limits.calls = 3;
  auto client = f.legacy();
  for (int i = 0; i < 3; i++) client->send(call(i, "hold", {{"name", std::to_string(i)}}));
  auto refused = client->ask(call(3, "echo", {{"text", "x"}}));
  CHECK(refused["id"] == 3);
  CHECK(refused["error"]["data"]["code"] == "exhausted");
  CHECK(client->ask(request(4, "ping"))["id"] == 4);
  client->send(cancel(0));
  CHECK(client->ask(call(5, "echo", {{"text", "x"}}))["result"]["content"][0]["text"] == "x");
}

TEST_CASE("of a tool that queues, many calls may wait on one connection", "[mcp]") {
  Fixture f;
  f.limits.calls = 2;
  f.limits.queued_calls = 1000;
  auto client = f.legacy();
  for (int i = 0; i < 1000; i++) client->send(call(i, "wait"));
  const Json refused = client->ask(call(1000, "wait"));
  CHECK(f.reserved == 1000);
  CHECK(refused["id"] == 1000);
  CHECK(refused["error"]["data"]["code"] == "exhausted");
  CHECK(refused["error"]["message"].get<std::string>().find("did not run") != std::string::npos);
  CHECK(client->ask(request("p", "ping"))["id"] == "p");
  CHECK(client->ask(call("e", "echo", {{"text", "x"}}))["id"] == "e");  // other tools have places of their own
  client->send(cancel(500));
  wait_until(f.loop, [&] { return f.reserved == 999; });
  client->send(call(1001, "wait"));
  wait_until(f.loop, [&] { return f.reserved == 1000; });
}

TEST_CASE("requests in work are bounded in bytes over all connections of a user", "[mcp]") {
  Fixture f;
  auto account = std::make_shared<mcp::Account>();
  account->max_call_bytes = 5 << 20;  // a request of 1 MiB counts as twice its text
  mcp::Connection::Accepted one, two;
  one.account = two.account = account;
  auto first = f.connect(std::move(one)), second = f.connect(std::move(two));
  const std::string large(1 << 20, 'x');
  auto wait = [&](int id) { return modern(id, "tools/call", {{"name", "wait"}, {"arguments", {{"filling", large}}}}); };
  first->send(wait(1));
  second->send(wait(2));
  wait_until(f.loop, [&] { return f.reserved == 2; });
  const Json refused = first->ask(wait(3));
  CHECK(refused["error"]["data"]["code"] == "exhausted");
  CHECK(f.reserved == 2);
  second->send(cancel(2));
  wait_until(f.loop, [&] { return f.reserved == 1; });
  first->send(wait(4));
  wait_until(f.loop, [&] { return f.reserved == 2; });
  first->close();
  second->close();
  wait_until(f.loop, [&] { return account->call_bytes == 0; });
}

TEST_CASE("progress is sent with the client's token, only rising, and never after the answer", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  const Json token = GENERATE(Json("t"), Json(0));
  auto steps = call(1, "steps");
  steps["params"]["_meta"]["progressToken"] = token;
  client->send(steps);
  auto first = client->message();
  CHECK(first["method"] == "notifications/progress");
  CHECK(first["params"] == Json{{"progressToken", token}, {"progress", 1.0}, {"total", 3.0}, {"message", "one"}});
  auto second = client->message()["params"];
  CHECK(second["progress"] == 2.5);
  CHECK(second["message"] == "more \xef\xbf\xbd than half");
  CHECK(client->message()["id"] == 1);
  CHECK(client->silent());
}

TEST_CASE("without a token there is no progress", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  CHECK(client->ask(call(1, "steps"))["id"] == 1);
  CHECK(client->silent());
}

TEST_CASE("a handler knows who asks, in which version and with which capabilities", "[mcp]") {
  Fixture f;
  mcp::Connection::Accepted accepted;
  accepted.principal = mcp::Principal({11, 22, 33, {}});
  accepted.user = std::make_shared<NamedUser>("tenant");
  auto client = f.connect(std::move(accepted));
  Json params = {{"name", "hold"},
                 {"_meta",
                  {{"traceparent", "00-1-2-03"},
                   {"io.modelcontextprotocol/clientInfo", {{"name", "c"}}},
                   {"io.modelcontextprotocol/clientCapabilities", {{"x", 1}}}}}};
  client->send(modern(1, "tools/call", params));
  wait_until(f.loop, [&] { return f.reserved == 1; });
  const auto& context = *f.last_context;
  CHECK(context.principal.uid() == 22);
  CHECK(name_of(context.user) == "tenant");
  CHECK(context.version == mcp::Version::v2026_07_28);
  CHECK(context.client->capabilities["x"] == 1);
  CHECK(context.client->info["name"] == "c");
  CHECK(context.meta["traceparent"] == "00-1-2-03");
  CHECK_FALSE(context.wants_progress());
}

TEST_CASE("a client that vanishes cancels all it asked for, at once", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  const bool unread = GENERATE(false, true);  // answers still in its socket: our read says ECONNRESET
  for (int i = 0; i < 10; i++) client->send(call(i, "hold"));
  if (unread) client->stop_reading();
  if (unread) client->send(request("p", "ping"));
  settle(f.loop);
  REQUIRE(f.reserved == 10);
  client->close();
  wait_until(f.loop, [&] { return f.reserved == 0; });
  CHECK(f.cancelled == 10);
  CHECK(f.connections[0] == nullptr);
  CHECK(f.server.calls() == 0);
}

TEST_CASE("a client that only ends its output still gets its answers", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->send(call(1, "hold", {{"name", "a"}}));
  client->write(call(2, "echo", {{"text", "x"}}).dump());  // the last line without its newline
  client->half_close();
  CHECK(client->message()["id"] == 2);
  REQUIRE(f.reserved == 1);
  SECTION("and then the end") {
    f.release("a");
    CHECK(client->message()["id"] == 1);
    CHECK(client->at_end());
    CHECK(f.connections[0] == nullptr);
  }
  SECTION("and is noticed when it vanishes later") {
    client->close();
    wait_until(f.loop, [&] { return f.reserved == 0; });
    CHECK(f.cancelled == 1);
    CHECK(f.connections[0] == nullptr);
  }
}

TEST_CASE("a connection that ends with nothing in work is gone", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  const bool half = GENERATE(false, true);
  if (half) {
    client->half_close();
    CHECK(client->at_end());
  } else {
    client->close();
  }
  wait_until(f.loop, [&] { return f.connections[0] == nullptr; });
}

TEST_CASE("arrays of messages work in 2025-03-26 and nowhere else", "[mcp]") {
  Fixture f;
  const Json two = Json::array({request(1, "ping"), call(2, "hold", {{"name", "a"}}), cancel("x"), call(3, "hold"), 5});
  SECTION("answered as one array, without what was cancelled") {
    auto client = f.legacy("2025-03-26");
    client->send(two);
    CHECK(client->silent());
    client->send(cancel(3));
    f.release("a");
    auto answers = client->message();
    REQUIRE(answers.size() == 3);
    CHECK(answers[0]["id"] == 1);
    CHECK(answers[1]["error"]["code"] == -32600);
    CHECK(answers[2]["id"] == 2);
  }
  SECTION("empty and huge ones are errors, and notifications alone have no answer") {
    auto client = f.legacy("2025-03-26");
    CHECK(client->ask(Json::array())["error"]["code"] == -32600);
    Json many = Json::array();
    for (int i = 0; i < 65; i++) many.push_back(request(i, "ping"));
    CHECK(client->ask(many)["error"]["code"] == -32600);
    client->send(Json::array({cancel(1)}));
    CHECK(client->silent());
  }
  SECTION("refused in other versions and before a handshake") {
    CHECK(f.legacy("2025-06-18")->ask(two)["error"]["code"] == -32600);
    CHECK(f.connect()->ask(two)["error"]["code"] == -32600);
    CHECK(f.reserved == 0);
  }
}

TEST_CASE("draining refuses new calls, lets running ones end and then says so", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->send(call(1, "hold", {{"name", "a"}}));
  settle(f.loop);
  f.server.drain();
  bool drained = false;
  auto wait = [](mcp::Server& server, bool& done) -> Task<> {
    co_await server.drained();
    done = true;
  };
  auto waiting = start(wait(f.server, drained));
  auto refused = client->ask(call(2, "echo", {{"text", "x"}}))["result"];
  CHECK(refused["isError"] == true);
  CHECK(refused["structuredContent"]["success"] == false);
  CHECK(refused["structuredContent"]["code"] == "unavailable");
  CHECK(refused["_meta"]["org.warder/not-run"] == "draining");
  CHECK(client->ask(request(3, "ping"))["id"] == 3);
  settle(f.loop);
  CHECK_FALSE(drained);
  f.release("a");
  CHECK(client->message()["id"] == 1);
  wait_until(f.loop, [&] { return drained; });
}

TEST_CASE("drained waits for answers that are not written yet", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->stop_reading();
  client->send(call(1, "big", {{"bytes", 4 << 20}}));
  settle(f.loop);
  REQUIRE(f.server.calls() == 0);
  bool drained = false;
  auto wait = [](mcp::Server& server, bool& done) -> Task<> {
    co_await server.drained();
    done = true;
  };
  auto waiting = start(wait(f.server, drained));
  settle(f.loop);
  CHECK_FALSE(drained);
  client->close();
  wait_until(f.loop, [&] { return drained; });
}

TEST_CASE("drained does not wait for a client that takes nothing of its last answer", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->stop_reading();
  client->send(call(1, "big", {{"bytes", 4 << 20}}));
  settle(f.loop);
  bool drained = false;
  auto wait = [](mcp::Server& server, bool& done) -> Task<> {
    co_await server.drained();
    done = true;
  };
  auto waiting = start(wait(f.server, drained));
  wait_until(f.loop, [&] { return drained; });  // sooner than the connection's own limit for slow readers
  CHECK(f.server.unread()->bytes() > 0);
  CHECK(f.server.unread()->late_bytes_read() == 0);
  client->start_reading();
  wait_until(f.loop, [&] { return f.server.unread()->late_bytes_read() > 0; });
}

TEST_CASE("a refused client learns why from the answer to its first request", "[mcp]") {
  Fixture f;
  mcp::Connection::Accepted accepted;
  accepted.refusal = Error{Code::denied, 0, "user 7 has no tenant", "ask the administrator", {}};
  auto client = f.connect(std::move(accepted));
  client->send(cancel(1));
  auto answer = client->ask(request("i", "initialize", {{"protocolVersion", "2025-11-25"}}));
  CHECK(answer["id"] == "i");
  CHECK(answer["error"]["message"] == "user 7 has no tenant");
  CHECK(answer["error"]["data"]["remedy"] == "ask the administrator");
  CHECK(client->at_end());
}

TEST_CASE("a refused client that says nothing is not kept", "[mcp]") {
  Fixture f;
  f.limits.refusal = 20ms;
  mcp::Connection::Accepted accepted;
  accepted.refusal = Error{Code::denied, 0, "no", "", {}};
  auto client = f.connect(std::move(accepted));
  CHECK(client->at_end());
}

TEST_CASE("a slow reader loses progress, not answers", "[mcp]") {
  Fixture f;
  f.limits.outbox.full_bytes = 1 << 20;
  mcp::ToolDefinition flood;
  flood.name = "flood";
  f.server.add_tool(std::move(flood), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    for (int i = 0; i < 100'000; i++) context.progress(i, {}, std::string(500, 'x'));
    co_return mcp::ToolResult::text("done");
  });
  auto client = f.legacy();
  auto request = call(1, "flood");
  request["params"]["_meta"]["progressToken"] = "t";
  client->send(request);
  size_t notifications = 0;
  Json last;
  while (!last.contains("id")) {
    last = client->message();
    notifications++;
  }
  CHECK(last["result"]["content"][0]["text"] == "done");
  CHECK(notifications < 10'000);
}

TEST_CASE("a user who has had his part of the loop waits, and nobody else does", "[mcp]") {
  static Monotonic::time_point time_now{std::chrono::hours(1)};
  Fixture f;
  LoopShares shares(f.loop, [] { return time_now; });
  f.server.set_loop_shares(shares);
  mcp::Connection::Accepted first, second;
  first.principal = mcp::Principal({11, 1001, 1001, {}});
  second.principal = mcp::Principal({12, 1002, 1002, {}});
  auto heavy = f.connect(std::move(first)), light = f.connect(std::move(second));
  const auto charge = [&shares](const char* owner, std::chrono::milliseconds time) {
    const auto share = shares.of(owner);
    const LoopShare::Use use(*share);
    time_now += time;
  };
  charge("user 1001", std::chrono::milliseconds(25));
  charge("user 1002", std::chrono::milliseconds(1));
  heavy->write(dump_json(request("later", "ping")) + "\n");
  CHECK(light->ask(request(1, "ping"))["id"] == 1);
  CHECK(heavy->silent());
  time_now += std::chrono::seconds(1);
  CHECK(heavy->message()["id"] == "later");
  f.connections.clear();
}
