#include "catalog/reader.h"

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {

catalog::Reading read(const Json& document, const catalog::DocumentOrigin& origin = {"files", "storage"}) {
  auto reading = catalog::read_definitions(document, origin);
  REQUIRE(reading);
  return *std::move(reading);
}

}  // namespace

TEST_CASE("a catalogue by categories is read as it is", "[reader]") {
  auto reading = read(Json::parse(R"({
    "version": "1.0", "last_updated": "2025-12-30", "total_tools": 85, "core_mcps": ["memory", "agents"],
    "categories": {"security": {"description": "Guards", "tools": {
      "dos_detector": {"name": "dos_detector", "mcp_server": "sec", "description": "Detects floods",
                       "functions": ["analyze"], "use_cases": ["floods"], "extra": 7}}},
      "empty": {"description": "Nothing yet"}}})"));
  CHECK(reading.form == catalog::Form::catalogue);
  CHECK(reading.problems.empty());
  CHECK(reading.core_servers == std::vector<std::string>{"memory", "agents"});
  CHECK(reading.categories == std::map<std::string, std::string>{{"security", "Guards"}, {"empty", "Nothing yet"}});
  REQUIRE(reading.tools.size() == 1);
  const auto& tool = reading.tools[0];
  CHECK(tool.name == "dos_detector");
  CHECK(tool.server == "sec");
  CHECK(tool.category == "security");
  CHECK(tool.description == "Detects floods");
  CHECK(Json::parse(tool.rest) == Json::parse(R"({"functions":["analyze"],"use_cases":["floods"],"extra":7})"));
}

TEST_CASE("an answer to tools/list is read in each of its shapes", "[reader]") {
  const Json tools = Json::parse(R"([{"name": "read_file", "description": "Reads", "title": "Read",
    "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}])");
  const Json document =
      GENERATE_COPY(Json{{"tools", tools}}, Json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", {{"tools", tools}}}}, tools);
  auto reading = read(document);
  CHECK(reading.form == catalog::Form::tools_list);
  REQUIRE(reading.tools.size() == 1);
  CHECK(reading.tools[0].server == "files");      // the file's name
  CHECK(reading.tools[0].category == "storage");  // the folder's
  Json rest = tools[0];
  rest.erase("name");
  rest.erase("description");
  CHECK(Json::parse(reading.tools[0].rest) == rest);
}

TEST_CASE("a list may say what holds for all its tools", "[reader]") {
  auto reading = read(Json::parse(R"({"server": "disk", "category": "io", "description": "Input and output",
    "tags": ["b", "a", "b"], "tools": [{"name": "x"}, {"name": "y", "tags": ["own"], "category": "other"}]})"));
  REQUIRE(reading.tools.size() == 2);
  CHECK(reading.tools[0].server == "disk");
  CHECK(reading.tools[0].category == "io");
  CHECK(reading.tools[0].tags == std::vector<std::string>{"a", "b"});
  CHECK(reading.tools[1].tags == std::vector<std::string>{"own"});
  CHECK(reading.tools[1].category == "other");
  CHECK(reading.categories.at("io") == "Input and output");
}

TEST_CASE("one tool of a file has no server but the one it names", "[reader]") {
  auto reading = read(Json::parse(R"({"name": "x", "kind": "skill"})"), {"x", ""});
  REQUIRE(reading.tools.size() == 1);
  CHECK(reading.form == catalog::Form::one_tool);
  CHECK(reading.tools[0].server.empty());
  CHECK(reading.tools[0].category == "general");
  CHECK(reading.tools[0].kind == catalog::ToolKind::skill);
}

TEST_CASE("what is no definition is refused as a whole", "[reader]") {
  const Json document =
      GENERATE(Json(nullptr), Json(7), Json("text"), Json::object(), Json{{"tools", 7}},
               Json{{"tools", Json::object()}}, Json{{"result", 7}}, Json{{"server", 7}, {"tools", Json::array()}});
  CAPTURE(document.dump());
  auto reading = catalog::read_definitions(document, {"a", "b"});
  REQUIRE_FALSE(reading);
  CHECK(reading.error().code == Code::invalid);
  CHECK_FALSE(reading.error().what.empty());
}

TEST_CASE("a tool that is wrong is named and left out; the others stay", "[reader]") {
  auto [broken, part] = GENERATE(table<Json, std::string>({
      {Json(7), "not an object"},
      {Json::object(), "the name ''"},
      {Json{{"name", 7}}, "'name' is not a string"},
      {Json{{"name", "with space"}}, "without spaces"},
      {Json{{"name", "nul\x01"}}, "without spaces"},
      {Json{{"name", std::string(129, 'a')}}, "128"},
      {Json{{"name", "a"}, {"description", 7}}, "'description'"},
      {Json{{"name", "a"}, {"inputSchema", "object"}}, "'inputSchema' is not an object"},
      {Json{{"name", "a"}, {"outputSchema", Json::array()}}, "'outputSchema' is not an object"},
      {Json{{"name", "a"}, {"functions", {1}}}, "'functions'"},
      {Json{{"name", "a"}, {"use_cases", "text"}}, "'use_cases'"},
      {Json{{"name", "a"}, {"tags", {""}}}, "tag"},
      {Json{{"name", "a"}, {"category", "line\nend"}}, "'category'"},
      {Json{{"name", "a"}, {"server", std::string(129, 's')}}, "'server'"},
      {Json{{"name", "a"}, {"kind", "other"}}, "'kind'"},
      {Json{{"name", "a"}, {"x", std::string(70'000, 'x')}}, "more than 65536"},
  }));
  CAPTURE(broken.dump().substr(0, 200));
  auto reading = read(Json{{"tools", {Json{{"name", "before"}}, broken, Json{{"name", "after"}}}}});
  REQUIRE(reading.tools.size() == 2);
  CHECK(reading.tools[1].name == "after");
  REQUIRE(reading.problems.size() == 1);
  CHECK_THAT(reading.problems[0], Catch::StartsWith("tools[1]: ") && Catch::Contains(part));
}

TEST_CASE("a category that is wrong is named and left out", "[reader]") {
  auto reading = read(Json::parse(R"({"categories": {"a": 7, "b": {"tools": []}, "c": {"description": 7},
    "d": {"tools": {"t": {}, "bad name": {}}}}, "core_mcps": "memory"})"));
  REQUIRE(reading.tools.size() == 1);
  CHECK(reading.tools[0].name == "t");
  CHECK(reading.problems.size() == 5);
  CHECK(read(Json{{"categories", 7}}).problems.size() == 1);
}

TEST_CASE("problems of a document are bounded and counted", "[reader]") {
  Json tools = Json::array();
  for (int i = 0; i < 1000; i++) tools.push_back(i);
  auto reading = read(Json{{"tools", tools}});
  CHECK(reading.problems.size() == 20);
  CHECK(reading.more_problems == 980);
}

TEST_CASE("a long description is cut at a whole character", "[reader]") {
  std::string text = "x";
  while (text.size() < 2 * catalog::kMaxDescriptionBytes) text += "\xE2\x82\xAC";
  auto reading = read(Json{{"tools", {{{"name", "a"}, {"description", text}}}}});
  const auto& cut = reading.tools.at(0).description;
  CHECK(cut.size() <= catalog::kMaxDescriptionBytes);
  CHECK(cut.size() > catalog::kMaxDescriptionBytes - 8);
  CHECK_THAT(cut, Catch::EndsWith("\xE2\x82\xAC\xE2\x80\xA6"));
}
