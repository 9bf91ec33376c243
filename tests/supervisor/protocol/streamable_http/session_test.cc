// Sessions of 2025-03-26 to 2025-11-25: streams, resumption, questions, their end.
#include <random>

#include "tests/supervisor/protocol/streamable_http/harness.h"

using namespace http_test;
using namespace std::chrono_literals;
using mcp_test::call;

namespace {

Json with_progress(Json message, int token) {
  message["params"]["_meta"]["progressToken"] = token;
  return message;
}

// A call that has begun its stream of events.
struct OpenCall {
  std::unique_ptr<HttpClient> client;
  std::string last_id;  // of its priming event
};
OpenCall open_call(HttpFixture& fixture, const std::string& session, const std::string& name) {
  OpenCall open{fixture.connect_http(), {}};
  open.client->write(session_post(session, with_progress(call(name, "hold", {{"name", name}}), 1)));
  const Answer started = open.client->partly([](const Answer& answer) { return !answer.event_ids().empty(); });
  open.last_id = started.event_ids().back();
  return open;
}

}  // namespace

TEST_CASE("a session answers requests, takes notifications, and ends by DELETE") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  client->write(session_post(session, {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}));
  const Answer used = client->answer();
  CHECK(used.status == 202);
  CHECK(used.body.empty());
  client->write(session_post(session, mcp_test::request(1, "ping")));
  CHECK(client->answer().json()["result"] == Json::object());
  client->write(session_post(session, call(2, "echo", {{"text", "a"}})));
  const Answer answer = client->answer();
  CHECK(answer.header("Content-Type") == "application/json");
  CHECK(answer.json()["result"]["content"][0]["text"] == "a");
  client->write("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: " + session + "\r\n\r\n");
  CHECK(client->answer().status == 204);
  client->write(session_post(session, mcp_test::request(3, "ping")));
  CHECK(client->answer().status == 404);
  CHECK(fixture.endpoint->sessions() == 0);
}

TEST_CASE("requests without a session, and with a wrong version") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  client->write(post(mcp_test::request(1, "ping").dump()));
  CHECK(client->answer().status == 400);
  const std::string session = fixture.begin_session(*client);
  client->write(post(mcp_test::request(1, "ping").dump(),
                     "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: 1999-01-01\r\n"));
  CHECK(client->answer().status == 400);
  client->write(post(mcp_test::request(1, "ping").dump(),
                     "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
  CHECK(client->answer().status == 200);
  client->write(post(mcp_test::request(1, "initialize", Json::object()).dump()));
  const Answer wrong = client->answer();
  CHECK(wrong.json()["error"]["code"] == -32602);
  CHECK(wrong.header("Mcp-Session-Id").empty());
  CHECK(fixture.endpoint->sessions() == 1);
}

TEST_CASE("another principal's session looks like none") {
  HttpFixture fixture;
  auto mine = fixture.connect_tcp(), other = fixture.connect_tcp();
  const std::string name = "Authorization: Bearer 1\r\n", two = "Authorization: Bearer 2\r\n";
  const std::string session = fixture.begin_session(*mine, "2025-11-25", name);
  const std::string ping = mcp_test::request(1, "ping").dump();
  const auto ask = [&](const std::string& request) {
    other->write(request);
    return other->answer();
  };
  const Answer foreign = ask(post(ping, two + "Mcp-Session-Id: " + session + "\r\n"));
  const Answer unknown = ask(post(ping, two + "Mcp-Session-Id: " + std::string(32, 'a') + "\r\n"));
  CHECK(foreign.status == 404);
  CHECK(foreign.head == unknown.head);
  CHECK(foreign.body == unknown.body);
  CHECK(ask(get(session, two)).status == 404);
  CHECK(ask("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + two + "Mcp-Session-Id: " + session + "\r\n\r\n").status ==
        404);
  CHECK(ask(post(ping, name + "Mcp-Session-Id: " + session + "\r\n")).status == 200);
}

TEST_CASE("a slow call becomes a stream, which begins with an event without data since 2025-11-25") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  for (const char* version : {"2025-03-26", "2025-06-18", "2025-11-25"}) {
    const std::string session = fixture.begin_session(*client, version);
    client->write(session_post(session, call(1, "hold", {{"name", version}})));
    client->partly([](const Answer&) { return true; });
    fixture.release(version);
    const Answer answer = client->answer();
    CHECK(answer.header("Content-Type") == "text/event-stream");
    REQUIRE(answer.events().size() == 1);
    const auto ids = answer.event_ids();
    const bool primes = std::string(version) == "2025-11-25";
    CHECK(ids.size() == (primes ? 2 : 1));
    CHECK(answer.body.starts_with("id: ") == true);
    CHECK((answer.body.find("retry: ") != answer.body.npos) == primes);
  }
}

TEST_CASE("each message goes out on the stream of its request") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall call = open_call(fixture, session, "a");
  mcp::RequestContext* first = fixture.last_context;
  OpenCall two = open_call(fixture, session, "b");
  first->progress(1);
  fixture.last_context->progress(2);
  fixture.release("b");
  fixture.release("a");
  const auto of_one = call.client->answer().events(), of_two = two.client->answer().events();
  REQUIRE(of_one.size() == 2);
  REQUIRE(of_two.size() == 2);
  CHECK(of_one[0]["params"]["progress"] == 1);
  CHECK(of_one[1]["id"] == "a");
  CHECK(of_two[0]["params"]["progress"] == 2);
  CHECK(of_two[1]["id"] == "b");
}

TEST_CASE("a client that lost its connection resumes its stream") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  fixture.last_context->progress(1);
  const Answer seen = open.client->partly([](const Answer& answer) { return answer.events().size() == 1; });
  open.client->close();
  settle(fixture.loop);
  CHECK(fixture.reserved == 1);  // not cancelled
  fixture.last_context->progress(2);
  fixture.last_context->progress(3);
  client->write(get(session, "Last-Event-ID: " + seen.event_ids().back() + "\r\n"));
  const Answer more = client->partly([](const Answer& answer) { return answer.events().size() == 2; });
  CHECK(more.events()[0]["params"]["progress"] == 2);
  fixture.release("a");
  const Answer last = client->answer();
  REQUIRE(last.events().size() == 3);
  CHECK(last.events()[2]["result"]["content"][0]["text"] == "released a");
  // Also the last event may have been lost.
  client->write(get(session, "Last-Event-ID: " + last.event_ids()[1] + "\r\n"));
  const Answer retry = client->answer();
  REQUIRE(retry.events().size() == 1);
  CHECK(retry.event_ids()[0] == last.event_ids()[2]);
}

TEST_CASE("of two clients that resume a stream the newer one gets it") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  auto older = fixture.connect_http(), newer = fixture.connect_http();
  older->write(get(session, "Last-Event-ID: " + open.last_id + "\r\n"));
  CHECK(open.client->answer().events().empty());  // its reply has ended, and the call has not
  newer->write(get(session, "Last-Event-ID: " + open.last_id + "\r\n"));
  CHECK(older->answer().events().empty());
  older->close();
  settle(fixture.loop);
  fixture.release("a");
  CHECK(newer->answer().events().size() == 1);
}

TEST_CASE("event ids that are not known, or whose events are lost, are refused") {
  HttpFixture fixture;
  fixture.http_limits.session.stream.replay_bytes = 2000;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client), other = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  const auto status = [&](const std::string& id, const std::string& of) {
    client->write(get(of, "Last-Event-ID: " + id + "\r\n"));
    const Answer answer = client->answer();
    return answer.status;
  };
  for (const char* id : {"", "1", "1-", "-1", "x", "1-1x", "99-0", "0-0", "99999999999999999999-1", "2-99", "2-1 "})
    CHECK(status(id, session) == 400);
  CHECK(status(open.last_id, other) == 400);
  for (int i = 1; i < 100; i++) fixture.last_context->progress(i, {}, std::string(100, 'x'));
  CHECK(status(open.last_id, session) == 400);  // its later events are lost
  fixture.release("a");
  const auto ids = open.client->answer().event_ids();
  client->write(get(session, "Last-Event-ID: " + ids[ids.size() - 2] + "\r\n"));
  CHECK(client->answer().events().size() == 1);
}

TEST_CASE("a stream without a client is given up, and its request cancelled") {
  HttpFixture fixture;
  fixture.http_limits.session.stream.orphan = 60ms;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  open.client->close();
  wait_until(fixture.loop, [&] { return fixture.reserved == 0; });
  CHECK(fixture.cancelled == 1);
  client->write(get(session, "Last-Event-ID: " + open.last_id + "\r\n"));
  CHECK(client->answer().status == 400);
}

TEST_CASE("a cancelled request ends its stream without an answer") {
  HttpFixture fixture;
  auto client = fixture.connect_http(), early = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  client->write(session_post(session, mcp_test::cancel("a")));
  CHECK(client->answer().status == 202);
  CHECK(open.client->answer().events().empty());
  CHECK(fixture.reserved == 0);
  early->write(session_post(session, call("b", "hold", {{"name", "b"}})));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  client->write(session_post(session, mcp_test::cancel("b")));
  CHECK(client->answer().status == 202);
  CHECK(early->answer().events().empty());
}

TEST_CASE("GET is the stream for messages without a request") {
  HttpFixture fixture;
  fixture.server.set_tool_choice({});
  auto client = fixture.connect_http(), listener = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  listener->write(get(session));
  const Answer started = listener->partly([](const Answer& answer) { return !answer.event_ids().empty(); });
  CHECK(started.header("Content-Type") == "text/event-stream");
  fixture.server.lists_changed(mcp::Changed::tools);
  const Answer more = listener->partly([](const Answer& answer) { return answer.events().size() == 1; });
  CHECK(more.events()[0]["method"] == "notifications/tools/list_changed");
  auto newer = fixture.connect_http();
  newer->write(get(session));
  CHECK(listener->answer().events().size() == 1);  // it has ended
}

TEST_CASE("a question goes out on the stream of its call, and the answer comes by POST") {
  HttpFixture fixture;
  mcp::ToolDefinition asking;
  asking.name = "ask";
  fixture.server.add_tool(std::move(asking), [](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
    auto done = std::make_shared<Event>();
    auto message = std::make_shared<std::string>("no");
    const auto question = context.elicit({"May I?"}, [done, message](mcp::Elicited answer) {
      if (answer.action == mcp::Elicited::Action::accept) *message = "yes";
      done->fire();
    });
    if (question) co_await *done;
    co_return mcp::ToolResult::text(*message);
  });
  auto client = fixture.connect_http(), other = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  client->write(session_post(session, call(1, "ask")));
  const Answer request = client->partly([](const Answer& answer) { return answer.events().size() == 1; });
  const Json question = request.events()[0];
  CHECK(question["method"] == "elicitation/create");
  other->write(session_post(
      session,
      {{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"action", "accept"}, {"content", Json::object()}}}}));
  CHECK(other->answer().status == 202);
  CHECK(client->answer().events()[1]["result"]["content"][0]["text"] == "yes");
}

TEST_CASE("arrays of messages, in 2025-03-26 only") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string old = fixture.begin_session(*client, "2025-03-26"), session = fixture.begin_session(*client);
  const Json both = Json::array({mcp_test::request(1, "ping"), call(2, "echo", {{"text", "a"}})});
  client->write(session_post(old, both));
  CHECK(client->answer().json().size() == 2);
  client->write(session_post(old, Json::array({call(3, "hold", {{"name", "a"}}), mcp_test::request(4, "ping")})));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  fixture.release("a");
  CHECK(client->answer().json().size() == 2);
  client->write(session_post(old, Json::array({{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}})));
  CHECK(client->answer().status == 202);
  client->write(session_post(session, both));
  const Answer refused = client->answer();
  CHECK(refused.status == 400);
  CHECK(refused.json()["error"]["code"] == -32600);
}

TEST_CASE("an id that is in use, and messages without a valid id") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  client->write(session_post(session, call("a", "echo", {{"text", "x"}})));
  CHECK(client->answer().status == 400);
  client->write(session_post(session, call(nullptr, "echo", {{"text", "x"}})));
  CHECK(client->answer().status == 400);
  client->write(session_post(session, call(1.5, "echo", {{"text", "x"}})));
  CHECK(client->answer().status == 400);
  client->write(session_post(session, Json("text")));
  CHECK(client->answer().status == 400);
  fixture.release("a");
  CHECK(open.client->answer().events().size() == 1);
}

TEST_CASE("sessions are bounded, by principal and in total, and unused ones end") {
  HttpFixture fixture;
  fixture.http_limits.session.sessions = 3;
  fixture.http_limits.session.sessions_per_principal = 2;
  auto client = fixture.connect_tcp();
  const Json hello =
      mcp_test::request(1, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", Json::object()}});
  const auto status = [&](int user) {
    client->write(post(hello.dump(), "Authorization: Bearer " + std::to_string(user) + "\r\n"));
    return client->answer().status;
  };
  CHECK(status(1) == 200);
  CHECK(status(1) == 200);
  CHECK(status(2) == 200);
  CHECK(status(3) == 503);  // no session of another principal ends for it
}

TEST_CASE("a new session ends the idle one that its principal used the longest time ago, and none that is in use") {
  HttpFixture fixture;
  fixture.http_limits.session.sessions_per_principal = 2;
  auto client = fixture.connect_http();
  const std::string first = fixture.begin_session(*client), second = fixture.begin_session(*client);
  const Json ping = mcp_test::request(7, "ping");
  client->write(session_post(first, ping));
  CHECK(client->answer().status == 200);
  const std::string third = fixture.begin_session(*client);
  client->write(session_post(second, ping));
  CHECK(client->answer().status == 404);
  OpenCall call = open_call(fixture, first, "a"), other = open_call(fixture, third, "b");
  const Json hello =
      mcp_test::request(1, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", Json::object()}});
  client->write(post(hello.dump()));
  CHECK(client->answer().status == 503);
  fixture.release("a");
  fixture.release("b");
}

TEST_CASE("the end of a session ends its streams and cancels its calls") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  const std::string session = fixture.begin_session(*client);
  OpenCall open = open_call(fixture, session, "a");
  client->write("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: " + session + "\r\n\r\n");
  CHECK(client->answer().status == 204);
  CHECK(open.client->answer().events().empty());
  CHECK(fixture.reserved == 0);
}

TEST_CASE("after 1,000 random cuts a client has each event once and in order") {
  HttpFixture fixture;
  std::mt19937 chance(20261126);
  auto control = fixture.connect_http();
  const std::string session = fixture.begin_session(*control);
  auto reader = fixture.connect_http();
  reader->write(session_post(session, with_progress(call("a", "hold", {{"name", "a"}}), 1)));
  const Answer started = reader->partly([](const Answer& answer) { return !answer.event_ids().empty(); });
  std::string last = started.event_ids().back();
  std::vector<int> seen;
  int sent = 0;
  size_t total = 0;  // events that this reader has already counted
  const auto count = [&](const Answer& answer) {
    const auto events = answer.events();
    const auto ids = answer.event_ids();
    for (size_t i = total; i < events.size(); i++)
      if (events[i].contains("method")) seen.push_back(events[i]["params"]["progress"].get<int>());
    if (events.size() > total) last = ids.back();
    total = events.size();
  };
  for (int cut = 0; cut < 1000; cut++) {
    for (unsigned i = chance() % 4; i > 0; i--) fixture.last_context->progress(++sent);
    if (chance() % 2 == 0) settle(fixture.loop);
    count(reader->partly([](const Answer&) { return true; }));  // the part that has come so far
    reader->close();
    for (unsigned i = chance() % 3; i > 0; i--) fixture.last_context->progress(++sent);
    if (chance() % 2 == 0) settle(fixture.loop);
    reader = fixture.connect_http();
    total = 0;
    reader->write(get(session, "Last-Event-ID: " + last + "\r\n"));
    const Answer resumed = reader->partly([](const Answer&) { return true; });
    REQUIRE(resumed.status == 200);
    count(resumed);
  }
  fixture.release("a");
  count(reader->answer());
  REQUIRE(seen.size() == static_cast<size_t>(sent));
  for (int i = 0; i < sent; i++) REQUIRE(seen[static_cast<size_t>(i)] == i + 1);
}
