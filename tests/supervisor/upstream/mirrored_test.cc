#include "supervisor/upstream/mirrored.h"

#include "supervisor/upstream/http_transport.h"
#include "tests/catch.h"

TEST_CASE("arguments become headers where a schema says so", "[upstream]") {
  const Json schema = Json::parse(R"({"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "options": {"type": "object", "properties": {"level": {"type": "integer", "x-mcp-header": "Level"},
                                                  "dry": {"type": "boolean", "x-mcp-header": "Dry"}}},
    "other": {"type": "string"}}})");
  auto all = upstream::read_mirrored(schema);
  REQUIRE(all);
  const upstream::Transport::Headers both{
      {"Mcp-Param-Region", "eu"}, {"Mcp-Param-Level", "42"}, {"Mcp-Param-Dry", "true"}};
  CHECK(upstream::mirror(
            *all, Json::parse(R"({"region": "eu", "options": {"level": 42, "dry": true}, "other": "x"})")) == both);
  CHECK(upstream::mirror(*all, Json::parse(R"({"region": null, "options": 3})")).empty());
  CHECK(upstream::mirror(*all, Json::array()).empty());
}

TEST_CASE("a schema that breaks the rules of headers is refused", "[upstream]") {
  auto text = GENERATE(as<std::string>(), R"({"properties": {"a": {"type": "string", "x-mcp-header": ""}}})",
                       R"({"properties": {"a": {"type": "string", "x-mcp-header": "A\r\nB: c"}}})",
                       R"({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}})",
                       R"({"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}})",
                       R"({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]})",
                       R"({"properties": {"a": {"type": "string", "x-mcp-header": "A"},
                                          "b": {"type": "string", "x-mcp-header": "a"}}})");
  CAPTURE(text);
  CHECK_FALSE(upstream::read_mirrored(Json::parse(text)));
}

TEST_CASE("header values are plain, or encoded", "[upstream]") {
  CHECK(upstream::header_value("us-west 1") == "us-west 1");
  CHECK(upstream::header_value(" padded ") == "=?base64?IHBhZGRlZCA=?=");
  CHECK(upstream::header_value("line1\nline2") == "=?base64?bGluZTEKbGluZTI=?=");
  CHECK(upstream::header_value("=?base64?literal?=") == "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
}
