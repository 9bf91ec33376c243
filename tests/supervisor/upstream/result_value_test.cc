#include "supervisor/upstream/result_value.h"

#include "supervisor/base/json/json.h"
#include "supervisor/upstream/definitions.h"
#include "supervisor/upstream/wrapped_result.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"

namespace {

upstream::ServerAnswer answered(Json result) {
  upstream::ServerAnswer answer;
  answer.result = std::move(result);
  return answer;
}
Json value_of_text(const std::string& text) {
  return upstream::value_of(answered({{"content", {{{"type", "text"}, {"text", text}}}}})).value;
}

// Output schemas as FastMCP and the official Python SDK write them for `def f() -> list[int]`.
const Json kMarked = Json::parse(R"({"type": "object", "x-fastmcp-wrap-result": true, "required": ["result"],
  "properties": {"result": {"type": "array", "items": {"type": "integer"}}}})");
const Json kTitled =
    Json::parse(R"({"type": "object", "title": "fOutput", "required": ["result"], "$defs": {"N": {"type": "integer"}},
  "properties": {"result": {"title": "Result", "type": "array", "items": {"$ref": "#/$defs/N"}}}})");
const Json kOwn =
    Json::parse(R"({"type": "object", "required": ["result"], "properties": {"result": {"type": "array"}}})");

}  // namespace

TEST_CASE("a text is a number only where it reads exactly as JSON writes one", "[result]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"8", "8"},
      {"8.0", "8.0"},
      {"-0.5", "-0.5"},
      {"true", "true"},
      {"false", "false"},
      {"null", "null"},
      {"007", R"("007")"},
      {"1.10", R"("1.10")"},
      {"1e3", R"("1e3")"},
      {"+1", R"("+1")"},
      {"1.2.3", R"("1.2.3")"},
      {"True", R"("True")"},
      {" 8", R"(" 8")"},
      {"-", R"("-")"},
      {"", R"("")"},
      {"4111111111111111", R"("4111111111111111")"},
      {"2024-01-01", R"("2024-01-01")"},
      {R"({"b":1,"a":2})", R"({"b":1,"a":2})"},
      {"{no json", R"("{no json")"},
  }));
  CAPTURE(text);
  CHECK(dump_json(value_of_text(text)) == expected);
}

TEST_CASE("several texts are one text, whatever one of them reads like", "[result]") {
  Json content = Json::array();
  for (const char* text : {"errors", "42", "done"}) content.push_back({{"type", "text"}, {"text", text}});
  CHECK(upstream::value_of(answered({{"content", content}})).value == "errors\n42\ndone");
  content[1]["text"] = R"({"a": 1})";
  CHECK(upstream::value_of(answered({{"content", content}})).value == Json({"errors", Json{{"a", 1}}, "done"}));
}

TEST_CASE("what a server's library wrapped is unwrapped, what a tool answers itself is not", "[result]") {
  const Json result = {{"structuredContent", {{"result", {3, 1}}}}};
  CHECK(upstream::value_of(answered(result), "f", &kMarked).value == Json({3, 1}));
  CHECK(upstream::value_of(answered(result), "f", &kTitled).value == Json({3, 1}));
  CHECK(upstream::value_of(answered(result), "F", &kTitled).value == Json{{"result", {3, 1}}});  // a model of its own
  CHECK(upstream::value_of(answered(result), "f", &kOwn).value == Json{{"result", {3, 1}}});
  CHECK(upstream::value_of(answered(result)).value == Json{{"result", {3, 1}}});

  Json marked = result;
  marked["_meta"] = {{"fastmcp", {{"wrap_result", true}}}};
  CHECK(upstream::value_of(answered(marked)).value == Json({3, 1}));

  const Json more = {{"structuredContent", {{"result", 1}, {"unit", "C"}}}};
  CHECK(upstream::value_of(answered(more), "f", &kMarked).value == more["structuredContent"]);
}

TEST_CASE("people and code are shown the type of what is inside a wrapping", "[result]") {
  Json tools = Json::array();
  for (const auto& [name, schema] : {std::pair("marked", kMarked), std::pair("f", kTitled), std::pair("own", kOwn)})
    tools.push_back({{"name", name}, {"inputSchema", {{"type", "object"}}}, {"outputSchema", schema}});
  const auto definitions = upstream::Definitions::read(tools, FreshMeter()).value();
  for (const Json& tool : definitions.described()) {
    CAPTURE(tool["name"]);
    CHECK(tool["outputSchema"]["type"] == (tool["name"] == "own" ? "object" : "array"));
    if (tool["name"] == "f") CHECK(tool["outputSchema"]["$defs"] == kTitled["$defs"]);
  }
  CHECK(definitions.tools.at("f")->definition()["outputSchema"]["type"] == "object");
}

TEST_CASE("JSON in a text stays a text where its values would take too much memory", "[upstream]") {
  auto text_of = [](size_t arrays) {
    std::string text = "[0";
    for (size_t i = 0; i < arrays; i++) text += ",[]";
    return text + "]";
  };
  auto report = [](std::string text) {
    upstream::ServerAnswer answer;
    answer.result = {{"content", Json::array({{{"type", "text"}, {"text", std::move(text)}}})}};
    return upstream::value_of(std::move(answer)).value;
  };
  CHECK(report(text_of(100'000)).is_array());
  const Json bomb = report(text_of(1'000'000));
  REQUIRE(bomb.is_string());
  CHECK(bomb.get_ref<const std::string&>().size() == 3'000'003);
}
