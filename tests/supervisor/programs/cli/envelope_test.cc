#include "supervisor/programs/cli/envelope.h"

#include <algorithm>
#include <chrono>

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using namespace cli;

TEST_CASE("scan finds what the proxy needs in a message of any shape", "[envelope]") {
  SECTION("a request") {
    const auto match =
        scan(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"id":9}}})");
    CHECK(match.kind == MessageKind::request);
    CHECK(match.id == "7");
    CHECK(match.method == "tools/call");
    CHECK_FALSE(match.modern());
  }
  SECTION("keys in any order, spaces anywhere, an id inside a string is not the id") {
    const auto match = scan(
        " {\t\"params\" : { \"a\": \"\\\"id\\\": 4\", \"b\": [{\"id\": 5}] } ,\"method\":\"m\", \"id\" : \"\\\\\" } ");
    CHECK(match.kind == MessageKind::request);
    CHECK(match.id == R"("\\")");
  }
  SECTION("a modern request") {
    const auto match = scan(
        R"({"id":1,"method":"m","params":{"_meta":{"x":{"y":1},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
    CHECK(match.modern());
    CHECK(match.meta_version == "2026-07-28");
  }
  SECTION("a notification about a request, and one of a subscription") {
    const auto cancelled = scan(R"({"method":"notifications/cancelled","params":{"requestId":"a b"}})");
    CHECK(cancelled.kind == MessageKind::notification);
    CHECK(cancelled.request_id == "\"a b\"");
    const auto update = scan(R"({"method":"n","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}})");
    CHECK(update.subscription == "3");
  }
  SECTION("answers, and their result when the whole line is wanted") {
    CHECK(scan(R"({"id":1,"error":{"code":1}})").kind == MessageKind::response);
    CHECK(scan(R"({"result":{"a":[1]},"id":1})").result == R"({"a":[1]})");
    const auto head = scan(R"({"id":1,"result":{"never read)", Scan::head);
    CHECK(head.kind == MessageKind::response);
    CHECK(head.id == "1");
  }
  SECTION("the last of two ids counts, as for warderd's parser") {
    CHECK(scan(R"({"id":1,"method":"m","id":2})").id == "2");
  }
  SECTION("an id that is no id is none") {
    for (const char* id : {"null", "true", "{}", "[1]"})
      CHECK(scan(R"({"method":"m","id":)" + std::string(id) + "}").kind == MessageKind::notification);
  }
}

TEST_CASE("scan calls unreadable what is not one JSON object, without ever running away", "[envelope]") {
  for (const char* text :
       {"", " ", "{", "}", "[]", "1", "\"a\"", "{\"id\"", "{\"id\":", "{\"id\":1", "{\"id\":1,", "{\"id\":1}}",
        "{\"id\":1} x", "{id:1}", "{\"a\":}", "{\"a\":]}", "{\"a\":[}", "{\"a\":\"\\", "{\"a\":\"\\\"}"}) {
    CAPTURE(text);
    CHECK(scan(text).kind == MessageKind::unreadable);
  }
  CHECK(scan(std::string_view("{\"a\":\0}", 7)).kind == MessageKind::unreadable);
  const std::string deep =
      "{\"a\":" + std::string(4 << 20, '[') + std::string(4 << 20, ']') + ",\"id\":1,\"result\":0}";
  CHECK(scan(deep).kind == MessageKind::response);
  CHECK(scan(std::string(1 << 20, '[')).kind == MessageKind::unreadable);
  const std::string slashes = "{\"a\":\"" + std::string(1 << 20, '\\') + "\"}";  // an even number, so the quote ends it
  CHECK(scan(slashes).kind == MessageKind::unreadable);  // read to its end, and neither request nor answer
}

TEST_CASE("many quotes after many backslashes cost linear time", "[envelope]") {
  // The least of several: an interruption adds to a measurement, and takes nothing away.
  auto cost_of = [](int quotes) {
    std::string text = "{\"a\":\"";
    for (int i = 0; i < quotes; i++) text += "\\\\\\\"";  // \\\" : two characters
    text += "\"}";
    double least = 1e9;
    for (int i = 0; i < 5; i++) {
      const auto start = std::chrono::steady_clock::now();
      scan(text);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count());
    }
    return least;
  };
  CHECK(cost_of(400'000) < 64 * cost_of(25'000));  // 16 times the text: about 16 times the cost, and not 256 times
}

TEST_CASE("a batch is taken apart into its messages", "[envelope]") {
  std::vector<std::string> seen;
  const auto collect = [&](std::string_view message) { seen.emplace_back(message); };
  for_each_message(R"( [ {"id":1,"a":[2]} ,{"id":2}] )", collect);
  CHECK(seen == std::vector<std::string>{R"({"id":1,"a":[2]})", R"({"id":2})"});
  seen.clear();
  for_each_message(R"({"id":1})", collect);
  CHECK(seen == std::vector<std::string>{R"({"id":1})"});
  for (const char* broken : {"[", "[]", "[1,]", "[1", "[1]]", "[1] 2"}) {
    seen.clear();
    for_each_message(broken, collect);
    CHECK(seen == std::vector<std::string>{broken});
  }
}

TEST_CASE("equal ids are spelled alike, and a replaced id leaves the rest as it was", "[envelope]") {
  CHECK(canonical_id("7") == "7");
  CHECK(canonical_id(R"("\u0061")") == "\"a\"");
  CHECK(canonical_id(R"("\/")") == "\"/\"");
  const std::string line = R"({ "id" : 7, "method":"m","params":{"id":7}})";
  CHECK(with_id(line, scan(line), "\"own\"") == R"({ "id" : "own", "method":"m","params":{"id":7}})");
}
