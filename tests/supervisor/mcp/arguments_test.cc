#include "supervisor/mcp/arguments.h"

#include "supervisor/mcp/registry.h"
#include "tests/catch.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

ordered_json schema() {
  return ordered_json::parse(R"({
    "type": "object",
    "properties": {
      "code": {"type": "string", "minLength": 1, "maxLength": 4},
      "language": {"type": "string", "enum": ["python", "shell"]},
      "memory_mb": {"type": "integer", "minimum": 16, "maximum": 4096},
      "ratio": {"type": "number"},
      "flag": {"type": "boolean"},
      "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
      "options": {"type": "object"},
      "maybe": {"type": ["string", "null"]}
    },
    "required": ["code"]
  })");
}

}  // namespace

TEST_CASE("arguments that fit the schema have no problems", "[mcp]") {
  const char* arguments = GENERATE(R"({"code":"x"})", R"({"code":"äöüß"})", R"({"code":"x","memory_mb":16.0})",
                                   R"({"code":"x","tags":[],"options":{"a":[1]},"flag":false,"maybe":null})",
                                   R"({"code":"x","ratio":1,"language":"shell"})");
  CAPTURE(arguments);
  CHECK_FALSE(mcp::find_problems(schema(), json::parse(arguments)));
}

TEST_CASE("a problem names the argument, the value and what is allowed", "[mcp]") {
  auto [arguments, problem] = GENERATE(table<std::string, std::string>({
      {R"({})", "argument 'code': missing, but required"},
      {R"({"code":7})", "argument 'code': 7 is not of type string"},
      {R"({"code":""})", "argument 'code': has 0 characters, the minimum is 1"},
      {R"({"code":"12345"})", "argument 'code': has 5 characters, the maximum is 4"},
      {R"({"code":"x","language":"perl"})", R"(argument 'language': "perl" is not one of "python", "shell")"},
      {R"({"code":"x","memory_mb":9000})", "argument 'memory_mb': 9000 is above the maximum of 4096"},
      {R"({"code":"x","memory_mb":15})", "argument 'memory_mb': 15 is below the minimum of 16"},
      {R"({"code":"x","memory_mb":16.5})", "argument 'memory_mb': 16.5 is not of type integer"},
      {R"({"code":"x","memory_mb":"16"})", R"(argument 'memory_mb': "16" is not of type integer)"},
      {R"({"code":"x","flag":1})", "argument 'flag': 1 is not of type boolean"},
      {R"({"code":"x","tags":["a",1]})", "argument 'tags': item 1: 1 is not of type string"},
      {R"({"code":"x","tags":["a","b","c"]})", "argument 'tags': has 3 items, the maximum is 2"},
      {R"({"code":"x","options":[]})", "argument 'options': an array is not of type object"},
      {R"({"code":"x","maybe":1})", "argument 'maybe': 1 is not of type string or null"},
      {R"({"code":"x","time":1})",
       "argument 'time': unknown; this tool takes code, language, memory_mb, ratio, flag, tags, options, maybe"},
      {R"({"flag":1})", "argument 'code': missing, but required\nargument 'flag': 1 is not of type boolean"},
      {"{\"code\":\"x\",\"a\\u0007\\u001b[0m\":1}",
       "argument 'a\\x07\\x1b[0m': unknown; this tool takes code, language, "
       "memory_mb, ratio, flag, tags, options, maybe"},
  }));
  CAPTURE(arguments);
  auto found = mcp::find_problems(schema(), json::parse(arguments));
  REQUIRE(found);
  CHECK(*found == problem);
}

TEST_CASE("an argument without a name in the schema is refused unless the schema allows it", "[mcp]") {
  auto open = schema();
  const json arguments = {{"code", "x"}, {"more", 1}};
  CHECK(mcp::find_problems(open, arguments));
  open["additionalProperties"] = false;
  CHECK(mcp::find_problems(open, arguments));
  open["additionalProperties"] = {{"type", "integer"}};
  CHECK_FALSE(mcp::find_problems(open, arguments));
  open["additionalProperties"] = true;
  CHECK_FALSE(mcp::find_problems(open, arguments));
  CHECK_FALSE(mcp::find_problems({{"type", "object"}}, arguments));
}

TEST_CASE("the list of problems is bounded, however many there are", "[mcp]") {
  json arguments = {{"code", "x"}};
  for (int i = 0; i < 1000; i++) arguments["unknown" + std::to_string(i)] = i;
  auto found = mcp::find_problems(schema(), arguments);
  REQUIRE(found);
  CHECK(std::count(found->begin(), found->end(), '\n') == 4);
}

TEST_CASE("a schema that is not portable is told apart, keyword by keyword", "[mcp]") {
  mcp::ToolDefinition tool;
  tool.name = "t";
  tool.description = "Does.";
  tool.input_schema = {{"type", "object"}, {"properties", {{"a", {{"type", "string"}}}}}};
  REQUIRE(mcp::portability_problems(tool).empty());
  SECTION("composition at the root") {
    tool.input_schema["anyOf"] = ordered_json::array();
    CHECK(mcp::portability_problems(tool) == std::vector<std::string>{"t: the input schema uses anyOf"});
  }
  SECTION("a list of types") {
    tool.input_schema["properties"]["a"]["type"] = ordered_json::array({"string", "null"});
    CHECK(mcp::portability_problems(tool) == std::vector<std::string>{"t: 'a' has a list of types"});
  }
  SECTION("a description that clients would cut") {
    tool.description.assign(2049, 'x');
    CHECK(mcp::portability_problems(tool).size() == 1);
  }
  SECTION("an output schema that is not an object's") {
    tool.output_schema = ordered_json::object({{"type", "array"}});
    CHECK(mcp::portability_problems(tool).size() == 1);
  }
}
