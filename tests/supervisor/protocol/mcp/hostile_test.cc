// What clients must not be able to do: crash, block or bloat the server. Every line here is followed by a ping.
#include <sys/socket.h>

#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;
using namespace std::chrono_literals;

namespace {

constexpr int kSilence = 0;
constexpr int kResult = 1;

struct Line {
  std::string bytes;
  int code;  // of the error it is answered with, or one of the two above
};

std::string nested(size_t depth) {
  return R"({"jsonrpc":"2.0","id":"x","method":"ping","params":{"a":)" + std::string(depth, '[') +
         std::string(depth, ']') + "}}";
}

}  // namespace

TEST_CASE("whatever a line says, the server answers or ignores it and goes on", "[mcp]") {
  const Line line = GENERATE(values<Line>({
      {"garbage", -32700},
      {"{", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping")", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping"}})", -32700},
      {std::string("\0\0\0", 3), -32700},
      {"\xff\xfe\x00", -32700},
      {"NaN", -32700},
      {"", kSilence},
      {"\r", kSilence},
      {"   \t ", kSilence},
      {"null", -32600},
      {"7", -32600},
      {"\"text\"", -32600},
      {"[]", -32600},
      {"{}", -32600},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":1e2,"method":"ping"})", kResult},
      {R"({"jsonrpc":"2.0","id":1e300,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":true,"method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":")" + std::string(2000, 'i') + R"(","method":"ping"})", -32600},
      {R"({"id":"x","method":"ping"})", -32600},
      {R"({"jsonrpc":"1.0","id":"x","method":"ping"})", -32600},
      {R"({"jsonrpc":2.0,"id":"x","method":"ping"})", -32600},
      {R"({"jsonrpc":"2.0","id":"x"})", -32600},
      {R"({"jsonrpc":"2.0","id":"x","method":7})", -32600},
      {R"({"jsonrpc":"2.0","id":"x","method":"ping","params":[1]})", -32600},
      {R"({"jsonrpc":"2.0","id":"x","method":"ping","params":null})", kResult},
      {R"({"jsonrpc":"2.0","id":"x","method":"\u0000\u001b[31m"})", -32601},
      {R"({"jsonrpc":"2.0","id":"x","method":")" + std::string(100'000, 'm') + R"("})", -32601},
      {R"({"jsonrpc":"2.0","method":"ping"})", kSilence},
      {R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"hold"}})", kSilence},
      {R"({"jsonrpc":"2.0","method":"no/such"})", kSilence},
      {R"({"jsonrpc":"2.0","method":"notifications/cancelled"})", kSilence},
      {R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[{}]}})", kSilence},
      {R"({"jsonrpc":"2.0","id":"x","result":{}})", kSilence},
      {R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}})", kSilence},
      {nested(60), kResult},
      {nested(64), -32600},
      {nested(100'000), -32600},
      {std::string(300'000, '['), -32600},
      {"[" + std::string(900'000, ','), -32700},
      {R"({"jsonrpc":"2.0","id":"x","id":"y","method":"garbage","method":"ping"})", kResult},
      {R"({"jsonrpc":"2.0","id":"x","method":"ping","params":{"n":1e999}})", kResult},
      {R"({"jsonrpc":"2.0","id":"x","method":"ping","params":{"n":123456789012345678901234567890}})", kResult},
      {R"({"jsonrpc":"2.0","id":"x","method":"ping","more":[1,2,{"a":null}]})", kResult},
      {R"({"jsonrpc":"2.0","id":"x","method":"ping"})"
       "\r",
       kResult},
      {"  "
       R"({"jsonrpc":"2.0","id":"x","method":"ping"})"
       "\t ",
       kResult},
      {R"({"jsonrpc":"2.0","id":"x\ud800","method":"ping"})", kResult},
      {"{\"jsonrpc\":\"2.0\",\"id\":\"x\xff\",\"method\":\"ping\"}", kResult},
      {"{\"jsonrpc\":\"2.0\",\"id\":\"\xe2\x80\xa8\",\"method\":\"ping\"}", kResult},
      {std::string(2'000'000, 'x'), -32600},  // longer than a line may be
  }));
  CAPTURE(line.bytes.substr(0, 200), line.bytes.size());
  Fixture f;
  f.limits.line_bytes = 1'000'000;
  auto client = f.connect();
  client->write(line.bytes + "\n");
  if (line.code != kSilence) {
    const std::string text = client->line();
    const Json answer = Json::parse(text);
    CAPTURE(text.substr(0, 200));
    if (line.code == kResult) CHECK(answer["result"] == Json::object());
    if (line.code < 0) CHECK(answer["error"]["code"] == line.code);
    CHECK_FALSE((answer.contains("id") && answer["id"].is_null()));
    CHECK(text.size() < 2000);  // an error does not send back what it was sent
  }
  CHECK(client->ask(request("still here", "ping"))["id"] == "still here");
  CHECK(f.reserved == 0);
}

TEST_CASE("an error names the request whenever its id can be read", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  client->write(std::string_view("{\"id\":\"x\",\"method\":\"ping\"}\n"));
  CHECK(client->message()["id"] == "x");
  client->write(std::string_view("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":3}\n"));
  CHECK(client->message()["id"] == 9);
}

TEST_CASE("lone surrogates and broken UTF-8 come back as replacement characters", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  client->write(
      std::string_view("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
                       "\"arguments\":{\"text\":\"a\\ud83db\\udc00c\\ud83d\\ude00 \xff \\u2028\"}}}\n"));
  const std::string line = client->line();
  CHECK(Json::parse(line)["result"]["content"][0]["text"] ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd"
        "c\xf0\x9f\x98\x80 \xef\xbf\xbd \xe2\x80\xa8");
  CHECK(line.find("\xe2\x80\xa8") == line.npos);
}

TEST_CASE("a large request and its answer go through whole", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  std::string text(3 << 20, 'x');
  for (size_t i = 0; i < text.size(); i += 1000) text[i] = '\n';
  CHECK(client->ask(call(1, "echo", {{"text", text}}))["result"]["content"][0]["text"] == text);
}

TEST_CASE("a request that comes byte by byte is one request", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  for (char c : request("slow", "ping").dump() + "\n") {
    client->write(std::string_view(&c, 1));
    uv_run(f.loop.uv(), UV_RUN_NOWAIT);
  }
  CHECK(client->message()["id"] == "slow");
}

TEST_CASE("a client that never reads stops being read, and is cut in the end", "[mcp]") {
  Fixture f;
  f.limits.outbox.full_bytes = 100'000;
  f.limits.outbox.slow_reader = 50ms;
  auto client = f.legacy();
  client->stop_reading();
  // Far more answers than socket and queue hold: the server stops reading, then gives up on the client.
  std::string requests;
  for (int i = 0; i < 200; i++) requests += request(i, "tools/list").dump() + "\n";
  for (int round = 0; round < 1000 && f.connections[0]; round++) client->write(requests);
  CHECK(f.connections[0] == nullptr);
  CHECK(f.legacy()->ask(request(1, "ping"))["id"] == 1);
}

TEST_CASE("a client that reads late but reads gets everything in order", "[mcp]") {
  Fixture f;
  f.limits.outbox.full_bytes = 100'000;
  auto client = f.legacy();
  std::string all;
  for (int i = 0; i < 3000; i++) all += request(i, "tools/list").dump() + "\n";
  client->write(all);
  int wrong = 0;
  for (int i = 0; i < 3000; i++) wrong += client->message()["id"] != i;
  CHECK(wrong == 0);
}

TEST_CASE("answers beyond the hard limit of the queue cut the client, not the server", "[mcp]") {
  Fixture f;
  f.limits.outbox.hard_bytes = 2 << 20;
  auto client = f.legacy();
  client->stop_reading();
  for (int i = 0; i < 4; i++) client->send(call(i, "big", {{"bytes", 1 << 20}}));
  wait_until(f.loop, [&] { return f.connections[0] == nullptr; });
  CHECK(f.legacy()->ask(request(1, "ping"))["id"] == 1);
}

TEST_CASE("one user's unfinished lines share a budget", "[mcp]") {
  Fixture f;
  auto account = std::make_shared<mcp::Account>();
  account->max_line_bytes = 1 << 20;
  auto connect = [&] {
    mcp::Connection::Accepted accepted;
    accepted.account = account;
    return f.connect(std::move(accepted));
  };
  auto first = connect();
  auto second = connect();
  first->write(std::string(900'000, 'x'));
  settle(f.loop);
  second->write(std::string(400'000, 'x'));
  CHECK(second->message()["error"]["code"] == -32600);
  CHECK(second->at_end());
  first->write(std::string_view("\n"));
  CHECK(first->message()["error"]["code"] == -32700);
  CHECK(first->ask(request(1, "ping"))["id"] == 1);
  first->close();
  wait_until(f.loop, [&] { return account->connections == 0; });
  CHECK(account->line_bytes == 0);
}

TEST_CASE("no end of a connection leaks a descriptor or a handler", "[mcp]") {
  Fixture f;
  settle(f.loop);
  const size_t before = open_descriptors();
  for (int round = 0; round < 50; round++) {
    auto client = f.legacy();
    client->send(call(1, "hold"));
    client->write(std::string_view("garbage\n"));
    settle(f.loop);
    if (round % 3 == 1) client->half_close();
    if (round % 3 == 1) settle(f.loop);
    if (round % 3 == 2) client->stop_reading();
    client->close();
    wait_until(f.loop, [&] { return f.connections.back() == nullptr; });
  }
  settle(f.loop);
  CHECK(f.reserved == 0);
  CHECK(open_descriptors() == before);
}
