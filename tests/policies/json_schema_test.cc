// JSON Schema 2020-12: rows of schema, value and whether it fits, in the manner of the public test suite.
#include "policies/schema/json_schema.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"

using namespace policies;
using Unknown = JsonSchema::Unknown;

namespace {

std::shared_ptr<const JsonSchema> compiled(const std::string& schema) {
  auto created = JsonSchema::compile(std::make_shared<const Json>(Json::parse(schema)), Unknown::refuse, FreshMeter());
  INFO(schema);
  REQUIRE(created);
  return *created;
}

bool fits(const std::string& schema, const Json& value) {
  return compiled(schema)->check(value, FreshMeter()).has_value();
}

std::string problem(const std::string& schema, const Json& value) {
  auto checked = compiled(schema)->check(value, FreshMeter());
  return checked ? "" : checked.error().what;
}

struct Row {
  const char* schema;
  std::vector<const char*> good, bad;
};

const Row kRows[] = {
    {"true", {"1", "null", "{}"}, {}},
    {"false", {}, {"1", "null", "{}"}},
    {R"({"type": "integer"})", {"1", "1.0", "-5"}, {"1.5", "\"1\"", "true", "null"}},
    {R"({"type": "number"})", {"1", "1.5"}, {"\"1\"", "null", "[]"}},
    {R"({"type": ["string", "null"]})", {"\"a\"", "null"}, {"1", "[]"}},
    {R"({"enum": [6, "foo", [], true, {"foo": 12}]})",
     {"6", "6.0", "[]", R"({"foo": 12})"},
     {"7", "1", R"({"foo": false})"}},
    {R"({"const": {"a": false}})", {R"({"a": false})"}, {R"({"a": 0})", "[false]"}},
    {R"({"const": 1})", {"1", "1.0"}, {"true", "2"}},
    {R"({"minimum": -2, "exclusiveMaximum": 3})", {"-2", "2.9", "\"x\""}, {"-2.1", "3"}},
    {R"({"maximum": 3, "exclusiveMinimum": 1.1})", {"1.2", "3"}, {"1.1", "3.01"}},
    {R"({"multipleOf": 0.01})", {"0", "4.35", "0.0", "19.99"}, {"0.0075"}},
    {R"({"multipleOf": 2})", {"10", "-4", "\"x\""}, {"7"}},
    {R"({"type": "integer", "multipleOf": 0.123456789})", {}, {"1e308"}},
    {R"({"minLength": 2, "maxLength": 3})",
     {"\"ab\"", "\"\\u00e4\\u00f6\\u00fc\"", "1"},
     {"\"a\"", "\"abcd\"", "\"\\ud83d\\udca9\""}},
    {R"({"pattern": "^a*$"})", {"\"aaa\"", "\"\"", "1"}, {"\"abc\""}},
    {R"({"pattern": "a+"})", {"\"xxaayy\""}, {"\"b\""}},
    {R"({"pattern": "^\\u0041\\d\\/$"})", {"\"A1/\""}, {"\"a1/\""}},
    {R"({"pattern": "^\\p{L}+$"})", {"\"\\u00e4b\""}, {"\"1\""}},
    {R"~({"pattern": "(?<year>\\d{4})"})~", {"\"in 2026\""}, {"\"in 26\""}},
    {R"({"items": {"type": "integer"}})", {"[1, 2]", "[]", R"({"0": "x"})"}, {"[1, \"x\"]"}},
    {R"({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}})",
     {"[1, \"a\"]", "[1]", "[]"},
     {"[1, 2]", "[\"a\"]"}},
    {R"({"prefixItems": [{}, {}], "items": false})", {"[1, 2]", "[1]"}, {"[1, 2, 3]"}},
    {R"({"items": [{"type": "integer"}], "additionalItems": false})", {"[1]"}, {"[1, 2]", "[\"x\"]"}},
    {R"({"minItems": 1, "maxItems": 2})", {"[1]", "[1, 2]", "\"\""}, {"[]", "[1, 2, 3]"}},
    {R"({"uniqueItems": true})",
     {"[1, 2]", "[1, true]", "[0, false]", "[[1], [true]]", "[\"1\", 1]"},
     {"[1, 1.0]", R"([{"a": 1, "b": 2}, {"b": 2, "a": 1}])", "[[\"x\"], [\"x\"]]"}},
    {R"({"contains": {"minimum": 5}})", {"[3, 5]", "{}"}, {"[1]", "[]"}},
    {R"({"contains": {"const": 1}, "minContains": 2, "maxContains": 3})",
     {"[1, 1]", "[1, 2, 1, 1]"},
     {"[1]", "[1, 1, 1, 1]"}},
    {R"({"contains": {"const": 1}, "minContains": 0})", {"[]", "[2]"}, {}},
    {R"({"properties": {"a": {"type": "integer"}, "b": false}})",
     {"{}", R"({"a": 1})", "[]", R"({"c": 1})"},
     {R"({"a": "x"})", R"({"b": 1})"}},
    {R"({"properties": {"a": {}}, "patternProperties": {"^v": {"type": "array"}}, "additionalProperties": false})",
     {R"({"a": 1, "vroom": []})"},
     {R"({"vroom": 1})", R"({"x": 1})"}},
    {R"({"additionalProperties": {"type": "boolean"}})", {R"({"a": true})"}, {R"({"a": 1})"}},
    {R"({"required": ["a"]})", {R"({"a": null})", "[]"}, {"{}"}},
    {R"({"minProperties": 1, "maxProperties": 2})", {R"({"a": 1})"}, {"{}", R"({"a": 1, "b": 1, "c": 1})"}},
    {R"({"propertyNames": {"maxLength": 3}})", {R"({"abc": 1})", "{}"}, {R"({"abcd": 1})"}},
    {R"({"dependentRequired": {"a": ["b"]}})", {"{}", R"({"b": 1})", R"({"a": 1, "b": 1})"}, {R"({"a": 1})"}},
    {R"({"dependentSchemas": {"a": {"required": ["b"]}}})", {R"({"a": 1, "b": 1})"}, {R"({"a": 1})"}},
    {R"({"dependencies": {"a": ["b"], "c": {"minProperties": 2}}})",
     {R"({"a": 1, "b": 1})"},
     {R"({"a": 1})", R"({"c": 1})"}},
    {R"({"allOf": [{"required": ["a"]}, {"required": ["b"]}]})", {R"({"a": 1, "b": 1})"}, {R"({"a": 1})"}},
    {R"({"anyOf": [{"type": "integer"}, {"minimum": 2}]})", {"1", "2.5"}, {"1.5"}},
    {R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})", {"1", "2.5"}, {"3", "1.5"}},
    {R"({"not": {"type": ["integer", "boolean"]}})", {"\"x\""}, {"1", "true"}},
    {R"({"if": {"exclusiveMaximum": 0}, "then": {"minimum": -10}, "else": {"multipleOf": 2}})",
     {"-1", "4"},
     {"-100", "3"}},
    {R"({"$defs": {"p": {"minimum": 1}}, "properties": {"a": {"$ref": "#/$defs/p"}}})",
     {R"({"a": 1})"},
     {R"({"a": 0})"}},
    {R"({"$defs": {"a/b~c%": {"type": "integer"}}, "$ref": "#/$defs/a~1b~0c%25"})", {"1"}, {"\"x\""}},
    {R"({"definitions": {"p": {"type": "string"}}, "$ref": "#/definitions/p", "maxLength": 2})",
     {"\"ab\""},
     {"\"abc\"", "1"}},
    {R"({"properties": {"child": {"$ref": "#"}}, "additionalProperties": false})",
     {R"({"child": {"child": {}}})"},
     {R"({"child": {"x": 1}})"}},
    {R"({"$defs": {"x": {"$anchor": "here", "type": "integer"}}, "$ref": "#here"})", {"1"}, {"\"a\""}},
    {R"({"$id": "http://example.org/root", "$ref": "other", "$defs": {"o": {"$id": "other", "type": "string"}}})",
     {"\"a\""},
     {"1"}},
    {R"({"$id": "urn:x:1", "$defs": {"a": {"$id": "https://e.org/dir/a.json", "properties": {"n": {"$ref": "b.json#/$defs/n"}}},
         "b": {"$id": "https://e.org/dir/b.json", "$defs": {"n": {"type": "number"}}}}, "$ref": "https://e.org/dir/a.json"})",
     {R"({"n": 1})"},
     {R"({"n": "1"})"}},
    // The outermost resource with the dynamic anchor decides.
    {R"({"$id": "https://e.org/strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": false, "$defs": {"tree": {
         "$id": "tree", "$dynamicAnchor": "node", "type": "object", "properties": {"data": true,
         "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}}})",
     {R"({"children": [{"data": 1}]})"},
     {R"({"children": [{"daat": 1}]})"}},
    {R"({"properties": {"a": {}}, "unevaluatedProperties": false})", {R"({"a": 1})"}, {R"({"b": 1})"}},
    {R"({"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": false})",
     {R"({"a": 1, "b": 1})"},
     {R"({"c": 1})"}},
    {R"({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}], "unevaluatedProperties": false})",
     {R"({"a": 1})", R"({"b": 1})", R"({"a": 1, "b": 2})"},
     {R"({"a": 2, "b": 1})"}},
    {R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": {"type": "string"}})",
     {R"({"a": 1, "b": 5})", R"({"a": "x"})"},
     {R"({"a": 2})"}},
    {R"({"not": {"properties": {"a": {}}, "required": ["x"]}, "unevaluatedProperties": false})",
     {"{}"},
     {R"({"a": 1})"}},
    {R"({"prefixItems": [{}], "unevaluatedItems": false})", {"[1]", "[]"}, {"[1, 2]"}},
    {R"({"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}})", {"[\"a\", 1]"}, {"[\"a\", null]"}},
    {R"({"allOf": [{"items": {}}], "unevaluatedItems": false})", {"[1, 2]"}, {}},
    {R"({"format": "email", "contentEncoding": "base64", "title": "t", "default": 5, "x-ours": {}})",
     {"\"not one\"", "1"},
     {}},
};

}  // namespace

TEST_CASE("each keyword of JSON Schema accepts what fits it and nothing else", "[json_schema]") {
  for (const Row& row : kRows) {
    for (const char* value : row.good) {
      CAPTURE(row.schema, value);
      CHECK(problem(row.schema, Json::parse(value)) == "");
    }
    for (const char* value : row.bad) {
      CAPTURE(row.schema, value);
      CHECK_FALSE(fits(row.schema, Json::parse(value)));
    }
  }
}

TEST_CASE("numbers that neither 64 bits nor a double holds are checked by their values", "[json_schema]") {
  const auto fits_text = [](const std::string& schema, const char* value) {
    const auto created =
        JsonSchema::compile(std::make_shared<const Json>(parse_json(schema).value()), Unknown::refuse, FreshMeter());
    REQUIRE(created);
    return (*created)->check(parse_json(value).value(), FreshMeter()).has_value();
  };
  CHECK(fits_text(R"({"type": "integer"})", "[1e400]") == false);
  for (const char* number : {"1e400", "-0", "12345678901234567890123"}) {
    CAPTURE(number);
    CHECK(fits_text(R"({"type": "integer"})", number));
    CHECK(fits_text(R"({"type": "number"})", number));
    CHECK_FALSE(fits_text(R"({"type": ["string", "object"]})", number));
  }
  CHECK_FALSE(fits_text(R"({"type": "integer"})", "3.14159265358979323846"));
  CHECK_FALSE(fits_text(R"({"maximum": 18446744073709551615})", "18446744073709551616"));
  CHECK(fits_text(R"({"maximum": 1e400})", "9e399"));
  CHECK_FALSE(fits_text(R"({"exclusiveMinimum": 12345678901234567890123})", "12345678901234567890123"));
  CHECK(fits_text(R"({"const": 12345678901234567890123})", "12345678901234567890123"));
  CHECK_FALSE(fits_text(R"({"const": 12345678901234567890123})", "12345678901234567890124"));
  CHECK(fits_text(R"({"enum": [1, 100000000000000000000]})", "1e20"));
  CHECK_FALSE(fits_text(R"({"multipleOf": 10})", "12345678901234567890123"));
  CHECK_FALSE(fits_text(R"({"uniqueItems": true})", "[1e400, 10e399]"));
  CHECK(fits_text(R"({"uniqueItems": true})", "[1e400, 1e401]"));
  CHECK(fits_text(R"({"maxLength": 100000000000000000000})", R"("text")"));
}

TEST_CASE("a problem names its place and what is wrong there", "[json_schema]") {
  const char* kSchema = R"({"type": "object", "required": ["title"], "additionalProperties": false, "properties": {
      "title": {"type": "string", "maxLength": 5}, "labels": {"type": "array", "items": {"enum": ["a", "b"]}},
      "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}})";
  CHECK(problem(kSchema, Json::parse("{}")) == "'title' is missing");
  CHECK(problem(kSchema, Json::parse(R"({"title": "too long"})")) == "/title: 8 characters are more than 5");
  CHECK(problem(kSchema, Json::parse(R"({"title": "x", "labels": ["a", 3]})")) ==
        R"(/labels/1: 3 is not one of ["a","b"])");
  CHECK(problem(kSchema, Json::parse(R"({"title": "x", "more": 1})")) == "'more' is not known here");
  CHECK(problem(kSchema, Json::parse(R"({"title": "x", "n": 1.5})")) ==
        "/n: 1.5 does not match any of the 2 alternatives");
}

TEST_CASE("a schema that makes no sense is refused with its place", "[json_schema]") {
  const std::pair<const char*, const char*> kWrong[] = {
      {"1", "#: a schema is"},
      {R"({"properties": {"a": {"type": "text"}}})", "#/properties/a/type: \"text\" is not a type"},
      {R"({"minLength": -1})", "#/minLength: not a number of 0 or more"},
      {R"({"multipleOf": 0})", "#/multipleOf: not a number, or not a positive one"},
      {R"({"pattern": "("})", "#/pattern: an invalid expression"},
      {R"~({"pattern": "(?=x)"})~", "#/pattern: an invalid expression"},
      {R"({"$ref": "#/nowhere"})", "leads to no schema"},
      {R"({"$ref": "https://json-schema.org/draft/2020-12/schema"})", "leads to no schema"},
      {R"({"required": "a"})", "#/required: not a list of names"},
      {R"({"allOf": {}})", "#/allOf: not a list of schemas"},
  };
  for (const auto& [schema, message] : kWrong) {
    CAPTURE(schema);
    auto created =
        JsonSchema::compile(std::make_shared<const Json>(Json::parse(schema)), Unknown::refuse, FreshMeter());
    REQUIRE_FALSE(created);
    CHECK_THAT(created.error().what, Catch::Contains(message));
  }
}

TEST_CASE("what other people's schemas hold that cannot be checked is let through", "[json_schema]") {
  auto created = JsonSchema::compile(
      std::make_shared<const Json>(Json::parse(
          R"~({"properties": {"a": {"pattern": "^(?!x)"}, "b": {"$ref": "http://e.org/x"}, "c": {"type": "string"}}})~")),
      Unknown::let_pass, FreshMeter());
  REQUIRE(created);
  CHECK((*created)->check({{"a", "x"}, {"b", 1}}, FreshMeter()));
  CHECK_FALSE((*created)->check({{"c", 1}}, FreshMeter()));
}

TEST_CASE("a schema made to be slow is given up, not worked off", "[json_schema]") {
  // Every level asks twice for the next.
  std::string slow = R"({"$defs": {"l0": {"type": "integer"})";
  for (int i = 1; i <= 40; i++) {
    const std::string below = "{\"$ref\": \"#/$defs/l" + std::to_string(i - 1) + "\"}";
    slow += ", \"l" + std::to_string(i) + "\": {\"allOf\": [" + below + ", " + below + "]}";
  }
  slow += R"(}, "$ref": "#/$defs/l40"})";
  for (const std::string& schema :
       {slow, std::string(R"({"$ref": "#"})"),
        std::string(R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})")}) {
    auto checked = compiled(schema)->check(1, FreshMeter());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Code::exhausted);
  }
  CHECK(fits(R"({"pattern": "^(a+)+$"})", std::string(60, 'a') + "a"));
  CHECK_FALSE(fits(R"({"pattern": "^(a+)+$"})", std::string(100'000, 'a') + "b"));
  Json many = Json::array();
  for (int i = 0; i < 100'000; i++) many.push_back(i);
  CHECK(fits(R"({"uniqueItems": true})", many));
}

TEST_CASE("work is counted by the size of what is compared", "[json_schema]") {
  // A constant, a choice or a name that costs one step whatever its size would let a check take minutes.
  const std::string text(100'000, 'x');
  Json large = Json::array();
  for (int i = 0; i < 2'000; i++) large.push_back(i);
  Json different = large;
  different.back() = -1;
  Json constants{{"anyOf", Json::array()}};
  for (int i = 0; i < 30; i++) constants["anyOf"].push_back({{"const", different}});
  Json many = Json::array();
  for (int i = 0; i < 500; i++) many.push_back(large);
  const auto slow = compiled(dump_json({{"items", {{"not", constants}}}}));  // 30 million comparisons
  auto abandoned = slow->check(many, FreshMeter(std::chrono::milliseconds(100)));
  REQUIRE_FALSE(abandoned);
  CHECK(abandoned.error().code == Code::exhausted);

  Json alternatives{{"anyOf", Json::array()}};
  for (int i = 0; i < 300; i++) alternatives["anyOf"].push_back({{"$ref", "#/$defs/a"}});
  alternatives["$defs"]["a"]["anyOf"] = Json::array();
  for (int i = 0; i < 300; i++) alternatives["$defs"]["a"]["anyOf"].push_back({{"type", "integer"}});
  auto refused = compiled(dump_json(alternatives))->check({{"a", text}}, FreshMeter());  // 90,000 steps, one message
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().what.size() < 300);
}

TEST_CASE("long names do not make the reading of a schema slow", "[json_schema]") {
  const std::string name(400'000, 'n');
  Json inside = Json::object();
  for (int i = 0; i < 15'000; i++) inside["p" + std::to_string(i)] = true;
  const Json document{{"properties", {{name, {{"properties", inside}}}}}};
  auto created = JsonSchema::compile(std::make_shared<const Json>(document), Unknown::refuse, FreshMeter());
  REQUIRE(created);
  CHECK((*created)->check({{name, {{"p1", 1}}}}, FreshMeter()));
  auto wrong = JsonSchema::compile(std::make_shared<const Json>(Json{{"properties", {{name, {{"type", "no"}}}}}}),
                                   Unknown::refuse, FreshMeter());
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what.size() < 400);
}

TEST_CASE("an expression and a text that are too large for each other are given up at once", "[json_schema]") {
  const std::string pattern = R"({"pattern": "(?:[a-z0]{1,30}x){1,30}$"})";
  CHECK(fits(pattern, "aax"));
  auto abandoned = compiled(pattern)->check(std::string(4 << 20, 'a'), FreshMeter());
  REQUIRE_FALSE(abandoned);
  CHECK(abandoned.error().code == Code::exhausted);
  CHECK_THAT(abandoned.error().what, Catch::Contains("cannot be compared with a text of 4194304 bytes"));
}
