#include "supervisor/base/json/envelope_scan.h"

#include "tests/catch.h"

namespace {

std::string id_of(std::string_view text, size_t piece) {
  EnvelopeScan scan;
  for (size_t at = 0; at < text.size(); at += piece) scan.feed(text.substr(at, piece));
  const auto match = scan.found();
  if (!match) return "none";
  return (match->kind == EnvelopeScan::Kind::request ? "request " : "response ") + match->raw_id;
}

}  // namespace

TEST_CASE("the id of a message is found where it is certain, however the text is cut", "[envelope_scan]") {
  const size_t piece = GENERATE(1u, 3u, 1'000'000u);
  const auto [text, found] = GENERATE(table<std::string, std::string>({
      {R"({"jsonrpc":"2.0","id":7,"method":"m"})", "request 7"},
      {R"({"method":"m","params":{"id":1,"more":[{"id":2}]},"jsonrpc":"2.0","id":"a\"}b"})", R"(request "a\"}b")"},
      {R"( { "id" : -3 , "method" : "m" } )", "request -3"},
      {R"({"id":1e3,"method":"m"})", "request 1e3"},
      {R"({"id":5,"result":{"method":"m"}})", "response 5"},
      {R"({"id":5,"error":{}})", "response 5"},
      {R"({"id":5,"method":"m","params":{"a":NaN,"b":1e999}})", "request 5"},
      {R"({"id":5,"method":"m","params":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}", "request 5"},
      {R"({"id":5,"method":"m","params":{"text":"},\"id\":6,"}})", "request 5"},
      {R"({"method":"m"})", "none"},
      {R"({"id":5})", "none"},
      {R"({"id":5,"method":"m","result":1})", "none"},
      {R"({"id":5,"id":6,"method":"m"})", "none"},
      {R"({"id":5,"\u0069d":6,"method":"m"})", "none"},
      {R"({"id":null,"method":"m"})", "none"},
      {R"({"id":{"id":5},"method":"m"})", "none"},
      {R"({"id":[5],"method":"m"})", "none"},
      {R"({"id":")" + std::string(2000, 'i') + R"(","method":"m"})", "none"},
      {R"({"id":5,"method":"m")", "none"},
      {R"({"id":5,"method":"m"}})", "none"},
      {R"({"id":5,"method":"m"} x)", "none"},
      {R"({"id":5,"method":"m","params":{"a":[1}]})", "none"},
      {R"({"id":5,"method":"m","params":1"x":2})", "none"},
      {R"([{"id":5,"method":"m"}])", "none"},
      {R"("id")", "none"},
      {"", "none"},
  }));
  CAPTURE(piece, text.substr(0, 100));
  CHECK(id_of(text, piece) == found);
}
