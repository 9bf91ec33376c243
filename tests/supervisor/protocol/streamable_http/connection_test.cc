// Connections: requests that follow each other, limits, time-outs, hang-ups.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/supervisor/protocol/streamable_http/harness.h"

using namespace http_test;
using namespace std::chrono_literals;
using mcp_test::modern;

namespace {

std::string list_tools(int id) { return modern_post(modern(id, "tools/list")); }

std::string call_of(const Json& id, const std::string& tool, Json arguments = Json::object()) {
  return modern_post(modern(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}}));
}

}  // namespace

TEST_CASE("requests that come at once are answered one after the other") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  std::string all;
  for (int i = 1; i <= 5; i++) all += list_tools(i);
  client->write(all);
  for (int i = 1; i <= 5; i++) CHECK(client->answer().json()["id"] == i);
}

TEST_CASE("a request in pieces of one byte is answered, and a hang-up at any byte leaves no trace") {
  HttpFixture fixture;
  const std::string request = call_of(1, "echo", {{"text", "a"}});
  auto client = fixture.connect_http();
  for (const char byte : request) client->write(std::string_view(&byte, 1));
  CHECK(client->answer().json()["id"] == 1);
  client->close();
  for (size_t bytes = 0; bytes <= request.size(); bytes++) {
    auto leaving = fixture.connect_http();
    leaving->write(request.substr(0, bytes));
    leaving->close();
    settle(fixture.loop);
    if (fixture.endpoint->connections() != 0) {
      INFO("after byte " << bytes);
      wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 0; });
    }
  }
  CHECK(fixture.server.calls() == 0);
}

TEST_CASE("bytes behind a request with an open reply are bounded") {
  HttpFixture fixture;
  fixture.http_limits.connection.pipelined_bytes = 4096;
  auto client = fixture.connect_http();
  client->write(call_of(1, "hold", {{"name", "a"}}) + list_tools(2));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  CHECK(client->silent());
  fixture.release("a");
  CHECK(client->answer().json()["id"] == 1);
  CHECK(client->answer().json()["id"] == 2);
  client->write(call_of(3, "hold", {{"name", "b"}}));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  client->write(std::string(100'000, 'x'));
  CHECK(client->at_end());
  wait_until(fixture.loop, [&] { return fixture.reserved == 0; });
}

TEST_CASE("a client that ends its output has left") {
  HttpFixture fixture;
  int ends[2];
  auto client = fixture.connect_http();
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  Fd far(ends[1]);
  fixture.http().serve_tcp(Fd(ends[0]), std::make_shared<NamedAuthenticator>(), "");
  ::shutdown(far.get(), SHUT_WR);
  wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 1; });
}

TEST_CASE("heads and bodies that are late are refused") {
  HttpFixture fixture;
  fixture.http_limits.connection.head = 30ms;
  fixture.http_limits.connection.body_silence = 30ms;
  fixture.http_limits.connection.idle = 60ms;
  auto silent = fixture.connect_http(), slow = fixture.connect_http(), body = fixture.connect_http();
  slow->write("POST /mcp HT");
  const std::string request = list_tools(1);
  body->write(request.substr(0, request.size() - 5));
  CHECK(slow->answer().status == 408);
  CHECK(body->answer().status == 408);
  CHECK(slow->at_end());
  CHECK(body->at_end());
  CHECK(silent->at_end());
  wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 0; });
}

TEST_CASE("a head in slow bytes is late although bytes come") {
  HttpFixture fixture;
  fixture.http_limits.connection.head = 60ms;
  auto client = fixture.connect_http();
  for (int i = 0; i < 200 && !client->is_at_end(); i++) {
    client->write(i == 0 ? "GET /" : "a");
    bool over = false;
    Deadline pause(fixture.loop, 5ms, [&] { over = true; });
    fixture.loop.run_until([&] { return over; });
  }
  CHECK(client->answer().status == 408);
}

TEST_CASE("a body that never ends is late although bytes come") {
  HttpFixture fixture;
  fixture.http_limits.connection.body = 60ms;
  auto client = fixture.connect_http();
  client->write(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n");
  for (int i = 0; i < 200 && client->received().empty(); i++) {
    client->write("a");
    bool over = false;
    Deadline pause(fixture.loop, 5ms, [&] { over = true; });
    fixture.loop.run_until([&] { return over; });
  }
  CHECK(client->answer().status == 408);
}

TEST_CASE("a client that does not read its answers is disconnected") {
  HttpFixture fixture;
  fixture.http_limits.connection.outbox.slow_reader = 50ms;
  auto client = fixture.connect_http();
  client->stop_reading();
  client->write(call_of(1, "big", {{"bytes", 4'000'000}}));
  wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 0; });
}

TEST_CASE("a client that does not read its events loses progress, and is not given more memory than the bound") {
  HttpFixture fixture;
  fixture.http_limits.connection.outbox.full_bytes = 100'000;
  auto client = fixture.connect_http();
  client->stop_reading();
  client->write(modern_post(
      modern(1, "tools/call", {{"name", "hold"}, {"arguments", {{"name", "a"}}}, {"_meta", {{"progressToken", 1}}}})));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  for (int i = 1; i < 20'000; i++) fixture.last_context->progress(i, {}, std::string(900, 'x'));
  settle(fixture.loop);
  CHECK(fixture.server.unread()->bytes() < 500'000);
  fixture.release("a");
}

TEST_CASE("requests that cannot be served are refused with their status") {
  HttpFixture fixture;
  const auto answer_to = [&](const std::string& request) {
    auto client = fixture.connect_http();
    client->write(request);
    return client->answer();
  };
  CHECK(answer_to("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 405);
  CHECK(answer_to("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 405);
  CHECK(answer_to("PUT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").header("Allow") == "POST");
  CHECK(answer_to("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 404);
  auto head = fixture.connect_http();  // its answer has a length and no body
  head->write("HEAD /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  CHECK(head->at_end());
  CHECK(head->received().starts_with("HTTP/1.1 404 "));
  CHECK(head->received().ends_with("\r\n\r\n"));
  CHECK(answer_to("BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 501);
  CHECK(answer_to("GET /mcp HTTP/1.1\r\n\r\n").status == 400);
  CHECK(answer_to("hello\r\n\r\n").status == 400);
  std::string text = list_tools(1);
  text.replace(text.find("application/json"), 16, "text/plain");
  CHECK(answer_to(text).status == 415);
  std::string taste = list_tools(1);
  taste.replace(taste.find("Accept: application/json, text/event-stream"), 43, "Accept: image/png");
  CHECK(answer_to(taste).status == 406);
  CHECK(answer_to(post("[1", "")).json()["error"]["code"] == -32700);
  CHECK(answer_to(post(std::string(100'000, '['), "")).status == 400);
  const Answer large = answer_to(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n");
  CHECK(large.status == 413);
  CHECK(answer_to("GET /" + std::string(40'000, 'a')).status == 431);
}

TEST_CASE("a refused request with a body is answered before the connection ends") {
  HttpFixture fixture;
  auto client = fixture.connect_tcp();
  client->write(post(std::string(200'000, 'x')));
  CHECK(client->answer().status == 401);
  client->write(std::string(200'000, 'x'));
  CHECK(client->at_end());
}

TEST_CASE("without a token no request over TCP is served") {
  HttpFixture fixture;
  auto client = fixture.connect_tcp();
  client->write(list_tools(1));
  const Answer refused = client->answer();
  CHECK(refused.status == 401);
  CHECK(refused.header("WWW-Authenticate") == "Bearer");
  client = fixture.connect_tcp();
  client->write(modern_post(modern(1, "tools/list"), "Authorization: Bearer 1\r\n"));
  CHECK(client->answer().status == 200);
  client->write(modern_post(modern(1, "tools/list"), "Authorization: Bearer 99\r\n"));
  const Answer denied = client->answer();
  CHECK(denied.status == 403);
  CHECK(denied.json()["error"]["data"]["remedy"] == "ask for one");
  client = fixture.connect_tcp();
  client->write(modern_post(modern(1, "tools/list"), "Authorization: Bearer 1\r\n"));
  CHECK(client->answer().status == 200);
}

TEST_CASE("a server without tokens lets nobody in over TCP") {
  HttpFixture fixture;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  fixture.http().serve_tcp(Fd(ends[0]), std::make_shared<streamable_http::TokenAuthenticator>(), "127.0.0.1:1");
  HttpClient client(fixture.loop, Fd(ends[1]));
  client.write(modern_post(modern(1, "tools/list"), "Authorization: Bearer 1\r\n"));
  CHECK(client.answer().status == 401);
  CHECK(fixture.admitted == 0);
}

TEST_CASE("the client is asked for the body where it waits for that") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  std::string request = list_tools(1);
  const size_t end = request.find("\r\n\r\n");
  client->write(request.substr(0, end + 2) + "Expect: 100-continue\r\n\r\n");
  CHECK(client->answer().status == 100);
  client->write(request.substr(end + 4));
  CHECK(client->answer().json()["id"] == 1);
}

TEST_CASE("a client of HTTP/1.0 gets its answer, or its events, until the connection ends") {
  HttpFixture fixture;
  auto client = fixture.connect_http();
  std::string request = modern_post(modern(1, "tools/call", {{"name", "steps"}, {"_meta", {{"progressToken", 1}}}}));
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  client->write(request);
  CHECK(client->at_end());
  const Answer answer = client->answer();
  CHECK(answer.header("Transfer-Encoding").empty());
  CHECK(answer.events().size() == 3);
}

TEST_CASE("at the limit of connections, the one that waits longest ends") {
  HttpFixture fixture;
  fixture.http_limits.connections = 3;
  auto first = fixture.connect_http(), busy = fixture.connect_http(), third = fixture.connect_http();
  busy->write(call_of(1, "hold", {{"name", "a"}}));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  auto fourth = fixture.connect_http();
  CHECK(first->at_end());
  fourth->write(list_tools(1));
  CHECK(fourth->answer().status == 200);
  auto fifth = fixture.connect_http();
  CHECK(third->at_end());
  fixture.release("a");
  CHECK(busy->answer().status == 200);
}

TEST_CASE("one principal has a limit of connections") {
  HttpFixture fixture;
  fixture.http_limits.connections_per_principal = 2;
  auto item = fixture.connect_tcp(), two = fixture.connect_tcp(), three = fixture.connect_tcp();
  const std::string mine = modern_post(modern(1, "tools/list"), "Authorization: Bearer 1\r\n");
  for (auto* client : {item.get(), two.get()}) {
    client->write(mine);
    CHECK(client->answer().status == 200);
  }
  three->write(mine);
  CHECK(three->answer().status == 503);
  three = fixture.connect_tcp();
  three->write(modern_post(modern(1, "tools/list"), "Authorization: Bearer 2\r\n"));
  CHECK(three->answer().status == 200);
  item->close();
  wait_until(fixture.loop, [&] { return fixture.endpoint->connections() == 2; });
  three->write(mine);
  CHECK(three->answer().status == 200);
}

TEST_CASE("a pause ends connections after their replies") {
  HttpFixture fixture;
  auto idle = fixture.connect_http(), busy = fixture.connect_http();
  busy->write(call_of(1, "hold", {{"name", "a"}}));
  wait_until(fixture.loop, [&] { return fixture.reserved == 1; });
  fixture.endpoint->pause();
  CHECK(idle->at_end());
  fixture.release("a");
  CHECK(busy->answer().status == 200);
  CHECK(busy->at_end());
}

TEST_CASE("connections and sessions of chosen users end") {
  HttpFixture fixture;
  auto item = fixture.connect_tcp(), two = fixture.connect_tcp();
  const std::string session = fixture.begin_session(*item, "2025-11-25", "Authorization: Bearer 1\r\n");
  fixture.begin_session(*two, "2025-11-25", "Authorization: Bearer 2\r\n");
  CHECK(fixture.endpoint->sessions() == 2);
  fixture.endpoint->close_if(
      [](const std::shared_ptr<mcp::ConnectionUser>& user) { return mcp_test::name_of(user) == "uid:70001"; });
  CHECK(item->at_end());
  CHECK(fixture.endpoint->sessions() == 1);
  CHECK_FALSE(two->is_at_end());
}

TEST_CASE("a Unix socket serves lines and HTTP, told apart by the first byte") {
  HttpFixture fixture;
  const std::string path = "/tmp/warder-http-test-" + std::to_string(::getpid());
  auto admit = [](const mcp::Principal& principal) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
    return std::make_shared<mcp_test::NamedUser>(principal.name());
  };
  auto listener = mcp::Listener::open(fixture.loop, fixture.server, *mcp::listen_at(path, 0600), {}, admit).value();
  listener->set_http([&](Fd socket, std::string_view bytes, mcp::Conversation::Client client) {
    fixture.http().serve_peer(std::move(socket), bytes, std::move(client));
  });
  auto lines = mcp_test::Client::connect(fixture.loop, path);
  CHECK(lines->ask(modern(1, "tools/list"))["result"]["tools"].size() > 3);
  const auto connect = [&] {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return std::make_unique<HttpClient>(fixture.loop, std::move(socket));
  };
  auto web = connect(), slow = connect();
  slow->write("P");
  web->write(list_tools(1));
  CHECK(web->answer().status == 200);
  slow->write(list_tools(2).substr(1));
  CHECK(slow->answer().json()["id"] == 2);
  wait_until(fixture.loop, [&] { return listener->connections() == 1; });
  CHECK(fixture.endpoint->connections() == 2);
  CHECK(lines->ask(modern(2, "tools/list"))["id"] == 2);
  lines->write("GET / HTTP/1.1\r\n");  // not at the start: a line that is no JSON
  CHECK(lines->message()["error"]["code"] == -32700);
  ::unlink(path.c_str());
}
