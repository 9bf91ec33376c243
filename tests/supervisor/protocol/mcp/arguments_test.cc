#include "supervisor/protocol/mcp/arguments.h"

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/registry.h"
#include "tests/catch.h"
#include "tests/supervisor/protocol/mcp/portability.h"

namespace {

Json schema() {
  return Json::parse(R"({
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
  CHECK_FALSE(mcp::find_problems(schema(), Json::parse(arguments)));
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
  auto found = mcp::find_problems(schema(), Json::parse(arguments));
  REQUIRE(found);
  CHECK(*found == problem);
}

TEST_CASE("an unknown argument that is like a known one is told with it", "[mcp]") {
  const Json tool = {{"type", "object"},
                     {"properties",
                      {{"code", {{"type", "string"}}},
                       {"timeout_seconds", {{"type", "number"}}},
                       {"language", {{"type", "string"}}},
                       {"filename", {{"type", "string"}}}}}};
  auto [written, meant] = GENERATE(table<std::string, std::string>({{"timeout", "timeout_seconds"},
                                                                    {"timeoutMs", "timeout_seconds"},
                                                                    {"lang", "language"},
                                                                    {"file_path", "filename"},
                                                                    {"source_code", "code"}}));
  CHECK(mcp::find_problems(tool, {{written, 1}}) == "argument '" + written + "': unknown; did you mean " + meant +
                                                        "? This tool takes code, timeout_seconds, language, filename");
}

TEST_CASE("values are taken as they are meant where there is no doubt", "[mcp]") {
  const mcp::Spellings spellings = {{"language", {{"bash", "shell"}, {"js", "javascript"}}}};
  auto [written, meant] = GENERATE(table<std::string, std::string>({
      {R"({"memory_mb":"30"})", R"({"memory_mb":30})"},
      {R"({"ratio":"0.5"})", R"({"ratio":0.5})"},
      {R"({"flag":"True"})", R"({"flag":true})"},
      {R"({"options":"{\"a\":1}"})", R"({"options":{"a":1}})"},
      {R"({"tags":"[\"a\"]"})", R"({"tags":["a"]})"},
      {R"({"language":"Python"})", R"({"language":"python"})"},
      {R"({"language":"BASH"})", R"({"language":"shell"})"},
      // What is doubtful, or not what the schema has, stays.
      {R"({"memory_mb":"512MB"})", R"({"memory_mb":"512MB"})"},
      {R"({"memory_mb":"1.5"})", R"({"memory_mb":"1.5"})"},
      {R"({"flag":"1"})", R"({"flag":"1"})"},
      {R"({"flag":"yes"})", R"({"flag":"yes"})"},
      {R"({"options":"[1]"})", R"({"options":"[1]"})"},
      {R"({"language":"js"})", R"({"language":"js"})"},
      {R"({"code":"30","maybe":"null"})", R"({"code":"30","maybe":"null"})"},
      {R"({"unknown":"30"})", R"({"unknown":"30"})"},
  }));
  CAPTURE(written);
  Json arguments = Json::parse(written);
  mcp::accept_intended(schema(), spellings, arguments);
  CHECK(arguments == Json::parse(meant));
}

TEST_CASE("a declared number that 64 bits do not hold is compared by its value and read as the nearest double",
          "[mcp]") {
  const auto checked = [](const char* text) {
    Json arguments = parse_json(text).value();
    const auto problems = mcp::check_arguments(schema(), {}, arguments).problems;
    return problems.value_or(dump_json(arguments));
  };
  CHECK(checked(R"({"code":"x","ratio":0.1000000000000000000001})") == R"({"code":"x","ratio":0.1})");
  CHECK(checked(R"({"code":"x","memory_mb":1e400})") == "argument 'memory_mb': 1e400 is above the maximum of 4096");
  CHECK(checked(R"({"code":"x","memory_mb":16.00000000000000000001})") ==
        "argument 'memory_mb': 16.00000000000000000001 is not of type integer");
  CHECK(checked(R"({"code":"x","options":{"a":1e400,"b":-0}})") == R"({"code":"x","options":{"a":1e400,"b":-0}})");
  CHECK(checked(R"({"code":"x","flag":1e400})") == "argument 'flag': 1e400 is not of type boolean");
}

TEST_CASE("the memory of a value that came as its text is counted", "[mcp]") {
  std::string text = "[\"a\"";
  for (int i = 0; i < 1000; i++) text += ",\"a\"";
  Json arguments = {{"tags", text + "]"}};
  CHECK(mcp::accept_intended(schema(), {}, arguments) > 16'000);
  CHECK(arguments["tags"].size() == 1001);
}

TEST_CASE("a long text is not read as a value", "[mcp]") {
  Json arguments = {{"tags", "[" + std::string(1 << 20, ' ') + "]"}};
  CHECK(mcp::accept_intended(schema(), {}, arguments) == 0);
  CHECK(arguments["tags"].is_string());
}

TEST_CASE("an argument without a name in the schema is refused unless the schema allows it", "[mcp]") {
  auto open = schema();
  const Json arguments = {{"code", "x"}, {"more", 1}};
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
  Json arguments = {{"code", "x"}};
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
  REQUIRE(mcp_test::portability_problems(tool).empty());
  SECTION("composition at the root") {
    tool.input_schema["anyOf"] = Json::array();
    CHECK(mcp_test::portability_problems(tool) == std::vector<std::string>{"t: the input schema uses anyOf"});
  }
  SECTION("a list of types") {
    tool.input_schema["properties"]["a"]["type"] = Json::array({"string", "null"});
    CHECK(mcp_test::portability_problems(tool) == std::vector<std::string>{"t: 'a' has a list of types"});
  }
  SECTION("a description that clients would cut") {
    tool.description.assign(2049, 'x');
    CHECK(mcp_test::portability_problems(tool).size() == 1);
  }
  SECTION("an output schema that is not an object's") {
    tool.output_schema = Json::object({{"type", "array"}});
    CHECK(mcp_test::portability_problems(tool).size() == 1);
  }
}

TEST_CASE("what the host n8n adds to each call is dropped, and only that", "[mcp]") {
  const Json schema = {{"properties", {{"code", {{"type", "string"}}}, {"action", {{"type", "string"}}}}}};
  Json sent = {{"code", "1"}, {"toolCallId", "a"}, {"sessionId", "b"}, {"chatInput", "c"}, {"action", "commit"}};
  CHECK_FALSE(mcp::check_arguments(schema, {}, sent).problems);
  CHECK(sent == Json{{"code", "1"}, {"action", "commit"}});
  Json session = {{"code", "1"}, {"sessionId", "b"}};  // without the sign of n8n it is a mistake of the model
  CHECK(mcp::check_arguments(schema, {}, session).problems);
}

TEST_CASE("a wrong name of an argument is refused with the right one, or with what to do", "[mcp]") {
  const mcp::Spellings spellings{{"", {{"program", "code"}, {"packages", "install nothing"}}}};
  CHECK(mcp::find_problems(schema(), Json::parse(R"({"code":"x","program":1})"), spellings)
            ->starts_with("argument 'program': unknown; did you mean code?"));
  CHECK(mcp::find_problems(schema(), Json::parse(R"({"code":"x","packages":1})"), spellings) ==
        "argument 'packages': unknown; install nothing");
}
