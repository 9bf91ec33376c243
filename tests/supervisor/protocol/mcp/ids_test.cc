// Ids of requests: in every error that is about one, however it came, and never in an error that is about another.
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

// The official client for TypeScript writes the id last.
std::string with_params(const std::string& id, const std::string& params) {
  return R"({"method":"ping","params":)" + params + R"(,"jsonrpc":"2.0","id":)" + id + "}";
}

std::string nested_id(size_t depth) { return R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}"; }

std::string many(const std::string& value, size_t count) {
  std::string all = R"({"a":[)";
  for (size_t i = 0; i < count; i++) all += value + ",";
  return all + "0]}";
}

}  // namespace

TEST_CASE("a request that cannot become a value is refused with its id", "[mcp]") {
  const auto [line, code] = GENERATE(table<std::string, int>({
      {with_params("7", nested_id(70)), -32600},
      {with_params("7", nested_id(100'000)), -32600},
      {with_params("7", many("[]", 800'000)), -32600},
      {with_params("7", many("{}", 800'000)), -32600},
      {with_params("7", R"({"n":NaN})"), -32700},
      {with_params("7", R"({"n":1e9999999999})"), -32700},
      {with_params("7", R"({"n":")" + std::string(5'000'000, 'x') + R"("})"), -32600},  // longer than a line may be
  }));
  CAPTURE(line.substr(0, 100));
  Fixture f;
  f.limits.line_bytes = 4'000'000;
  auto client = f.connect();
  client->write(line + "\n");
  const Json answer = client->message();
  CAPTURE(answer.dump());
  CHECK(answer["error"]["code"] == code);
  CHECK(answer["id"] == 7);
  CHECK(client->ask(request("still here", "ping"))["id"] == "still here");
}

TEST_CASE("an id that is not certain is not in an error", "[mcp]") {
  const std::string line = GENERATE(values<std::string>({
      R"({"jsonrpc":"2.0","method":"ping","params":{"id":7,"n":NaN}})",
      R"({"jsonrpc":"2.0","id":7,"id":8,"method":"ping","params":{"n":NaN}})",
      R"({"jsonrpc":"2.0","id":7,"method":"ping","params":{"n":)",
      R"([{"jsonrpc":"2.0","id":7,"method":"ping","params":{"n":NaN}}])",
      R"({"jsonrpc":"2.0","id":7,"result":{"n":NaN}})",
  }));
  CAPTURE(line);
  Fixture f;
  auto client = f.connect();
  client->write(line + "\n");
  const Json answer = client->message();
  CHECK(answer["error"]["code"] == -32700);
  CHECK_FALSE(answer.contains("id"));
}

TEST_CASE("an answer of the client's that is too long is not taken for a request", "[mcp]") {
  Fixture f;
  f.limits.line_bytes = 1000;
  auto client = f.connect();
  client->write(R"({"jsonrpc":"2.0","id":7,"result":{"a":")" + std::string(2000, 'x') + "\"}}\n");
  CHECK(client->ask(request(8, "ping"))["id"] == 8);
}

TEST_CASE("a quarter of a million numbers are a request like any other", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  client->write(with_params("7", many("1.25", 250'000)) + "\n");
  CHECK(client->message()["result"] == Json::object());
}

TEST_CASE("an integer that is written as a float goes back as it came", "[mcp]") {
  const std::string id = GENERATE(values<std::string>({"1.0", "1e3", "-2.50e1", "7"}));
  Fixture f;
  auto client = f.legacy();
  client->write(with_params(id, "{}") + "\n");
  CHECK(client->line().find("\"id\":" + id + ",") != std::string::npos);
  // Each spelling means the same request.
  client->write(std::string(R"({"jsonrpc":"2.0","id":4.0,"method":"tools/call","params":{"name":"hold"}})") + "\n");
  settle(f.loop);
  REQUIRE(f.reserved == 1);
  client->send(cancel(4));
  wait_until(f.loop, [&] { return f.reserved == 0; });
}

TEST_CASE("an id in use is refused for every method, without it", "[mcp]") {
  const std::string method = GENERATE(values<std::string>({"ping", "tools/list", "tools/call", "no/such"}));
  CAPTURE(method);
  Fixture f;
  auto client = f.legacy();
  client->send(call(1, "hold", {{"name", "a"}}));
  const Json answer = client->ask(request(1, method, {{"name", "echo"}, {"arguments", {{"text", "x"}}}}));
  CHECK(answer["error"]["code"] == -32600);
  CHECK_FALSE(answer.contains("id"));
  CHECK(f.reserved == 1);
}

TEST_CASE("what is null is absent: params and progressToken", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  auto ping = request(1, "ping");
  ping["params"] = nullptr;
  CHECK(client->ask(ping)["result"] == Json::object());
  auto steps = call(2, "steps");
  steps["params"]["_meta"]["progressToken"] = nullptr;
  CHECK(client->ask(steps)["id"] == 2);  // and no progress before it
}

TEST_CASE("an empty cursor is the first page, of every list", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  CHECK(client->ask(request(1, "tools/list", {{"cursor", ""}}))["result"]["tools"].size() > 0);
  CHECK(client->ask(request(2, "tools/list", {{"cursor", "2"}}))["error"]["code"] == -32602);
}

TEST_CASE("initialize in an array is refused", "[mcp]") {
  Fixture f;
  auto client = f.legacy("2025-03-26");
  const Json hello = request(1, "initialize", {{"protocolVersion", "2025-03-26"}});
  const Json answers = client->ask(Json::array({hello, request(2, "ping")}));
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["id"] == 1);
  CHECK(answers[0]["error"]["code"] == -32600);
  CHECK(answers[1]["result"] == Json::object());
}
