// The discovery tools as a client sees them: the keys of the server whose contract they keep, and the defects that
// its originals had and these must not have.
#include "supervisor/tools/catalog/catalog_tools.h"

#include "catalog/did_you_mean.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "tests/catalog/library.h"
#include "tests/fresh_meter.h"
#include "tests/supervisor/protocol/mcp/portability.h"

namespace {

// The tools as the tests call them. `meant`: the tools that the caller may have meant.
Result<Json> search(const catalog::Catalog& catalog, const Json& arguments) {
  TRY(const auto order, tools::prepare_search(arguments));
  FreshMeter meter;
  return tools::search_tools(catalog, *order, meter);
}
Result<Json> search_tools(const catalog::Catalog& catalog, const Json& arguments, Json&) {
  return search(catalog, arguments);
}
Result<Json> get_tool_definition(const catalog::Catalog& catalog, const Json& arguments, Json& intended) {
  return tools::get_tool_definition(catalog, arguments, nullptr, &intended);
}
Result<Json> list_tool_categories(const catalog::Catalog& catalog, const Json& arguments, Json&) {
  return tools::list_tool_categories(catalog, arguments);
}

struct CatalogClient : Library {
  using Tool = Result<Json>(const catalog::Catalog&, const Json&, Json& meant);

  CatalogClient() {
    put("full_catalog.json", Json::parse(R"({
      "version": "1.0", "total_tools": 85, "core_mcps": ["enhanced-memory"],
      "categories": {
        "security": {"description": "Security analysis", "tools": {
          "dos_detector": {"name": "dos_detector", "mcp_server": "mcp_tools", "description": "Detect denial of service attacks",
            "functions": ["analyze_access_log", "get_report"], "use_cases": ["Analyze traffic for attacks"], "since": 2}}},
        "memory": {"description": "Remembering", "tools": {
          "store_memory": {"description": "Store a memory"},
          "dos_detector": {"mcp_server": "other", "description": "Another one of the name"}}}}})"));
    Json tools = Json::array();
    for (int i = 0; i < 23; i++)
      tools.push_back(
          {{"name", "widget_" + std::to_string(i)},
           {"description", "Turns widget number " + std::to_string(i)},
           {"inputSchema",
            {{"type", "object"}, {"properties", {{"angle", {{"type", "number"}}}}}, {"required", {"angle"}}}},
           {"outputSchema", {{"type", "object"}}},
           {"annotations", {{"readOnlyHint", true}}}});
    tools[0]["tags"] = {"first"};
    tools[1]["description"] = std::string(5000, 'x');
    put("shop/widgets.json", Json{{"tools", tools}});
    load();
  }

  Json ok(Tool* tool, const Json& arguments) const {
    Json intended;
    auto answer = tool(*produced, arguments, intended);
    INFO((answer ? "" : answer.error().what));
    REQUIRE(answer);
    CHECK(intended.is_null());
    return *answer;
  }
  // The members of the error that agents get, and the tools that they may have meant.
  Json error(Tool* tool, const Json& arguments, std::string_view code) const {
    Json intended;
    const mcp::ToolResult result = tools::answer_for_agent(tool(*produced, arguments, intended));
    REQUIRE(result.structured);
    INFO(result.structured->dump());
    CHECK(result.is_error);
    CHECK((*result.structured)["success"] == false);
    CHECK((*result.structured)["code"] == std::string(code));
    Json all = *result.structured;
    if (!intended.is_null()) all.update(intended);
    return all;
  }
  Json search(const Json& arguments) const { return ok(search_tools, arguments); }
};

Names keys(const Json& object) {
  Names all;
  for (const auto& [key, value] : object.items()) all.push_back(key);
  return all;
}

}  // namespace

TEST_CASE("search_tools answers with the keys that clients know", "[discovery]") {
  CatalogClient client;
  auto answer = client.search({{"query", "denial of service"}, {"category", "security"}});
  CHECK(answer == Json::parse(R"({"query":"denial of service","category":"security","detail_level":"summary","count":1,
    "total":1,"match":"strong","tools":[{"name":"dos_detector","category":"security","description":"Detect denial of service attacks",
    "mcp_server":"mcp_tools","signature":"dos_detector.{analyze_access_log, get_report}"}]})"));
  CHECK(client.search({{"query", "memory"}})["category"] == nullptr);
  CHECK(client.search({{"query", "store_memory"}})["tools"][0]["mcp_server"] == nullptr);
}

TEST_CASE("later results are told shortly", "[discovery]") {
  CatalogClient client;
  const Json tools = client.search({{"query", "widget"}, {"limit", 5}})["tools"];
  REQUIRE(tools.size() == 5);
  for (size_t i = 0; i < tools.size(); i++) {
    CHECK(tools[i].contains("signature") == (i < 2));
    CHECK(tools[i]["description"].get<std::string>().size() <= (i == 0 ? 163 : 83));
  }
  const Json brief = client.search({{"query", "widget"}, {"limit", 5}, {"detail_level", "brief"}})["tools"];
  CHECK(brief[4].contains("signature"));
}

TEST_CASE("search_tools tells as much as it is asked for", "[discovery]") {
  CatalogClient client;
  auto item = [&](const char* query, const char* level) {
    return client.search({{"query", query}, {"detail_level", level}, {"server", "widgets"}})["tools"][0];
  };
  CHECK(item("widget_0", "brief").dump() ==
        R"({"name":"widget_0","mcp_server":"widgets","signature":"widget_0(angle: float) -> dict"})");
  CHECK(item("widget_1", "summary")["description"].get<std::string>().size() < 400);
  CHECK(item("widget_1", "full")["description"].get<std::string>().size() == 5000);
  auto full = item("widget_0", "full");
  CHECK(keys(full) == Names{"name", "category", "description", "mcp_server", "functions", "use_cases", "inputSchema",
                            "outputSchema", "annotations", "tags", "signature"});
  auto seed = client.search({{"query", "dos"}, {"detail_level", "full"}, {"server", "mcp_tools"}})["tools"][0];
  CHECK(seed["functions"] == Json{"analyze_access_log", "get_report"});
  CHECK(seed["use_cases"] == Json{"Analyze traffic for attacks"});
}

TEST_CASE("search_tools cuts a long query, and says how sure it is", "[discovery]") {
  CatalogClient client;
  std::string text = "analyze my access log for attacks ";
  while (text.size() < 100'000) text += "of \u00FC ";
  const auto answer = client.search({{"query", text}});
  CHECK(answer["tools"][0]["name"] == "dos_detector");
  CHECK(answer["query"].get<std::string>().size() <= 2000);
  CHECK(client.search({{"query", "detect denial of service"}})["match"] == "strong");
  CHECK(client.search({{"query", "bake an apple tart and then turn off the oven before midnight"}})["match"] == "weak");
}

TEST_CASE("search_tools finds by words, not by the whole query as one substring", "[discovery]") {
  CatalogClient client;
  CHECK(client.search({{"query", "analyze my access log for attacks"}})["tools"][0]["name"] == "dos_detector");
  CHECK(client.search({{"query", "storing memories"}})["tools"][0]["name"] == "store_memory");
}

TEST_CASE("search_tools is bounded, and says so", "[discovery]") {
  CatalogClient client;
  auto answer = client.search({{"query", "widget"}});
  CHECK(answer["count"] == 5);
  CHECK(answer["total"] == 23);
  CHECK_THAT(answer["hint"].get<std::string>(), Catch::StartsWith("5 of 23"));
  CHECK(client.search({{"query", "widget"}, {"limit", 50}})["count"] == 23);
  CHECK_FALSE(client.search({{"query", "widget"}, {"limit", 50}}).contains("hint"));
  CHECK(client.search({{"query", ""}, {"tags", {"first"}}})["tools"][0]["name"] == "widget_0");
}

TEST_CASE("search_tools that finds nothing says what to do", "[discovery]") {
  CatalogClient client;
  auto [arguments, part] = GENERATE(table<Json, std::string>({
      {Json{{"query", "kubernetes"}}, "no tool has: kubernetes"},
      {Json{{"query", "widget"}, {"category", "nowhere"}}, "unknown category"},
      {Json{{"query", "widget"}, {"server", "nowhere"}}, "unknown server"},
      {Json{{"query", "widget"}, {"category", "memory"}}, "23 fit without"},
      {Json{{"query", "\xD0\xBF\xD0\xBE\xD0\xB8\xD1\x81\xD0\xBA"}}, "English"},
  }));
  CAPTURE(arguments.dump());
  auto answer = client.search(arguments);
  CHECK(answer["count"] == 0);
  CHECK(answer["tools"].empty());
  CHECK_THAT(answer["hint"].get<std::string>(), Catch::Contains(part));
  CHECK(client.search({{"query", "dos_detcetor"}})["tools"][0]["name"] == "dos_detector");  // mended
  const auto nearest = client.search({{"query", "dosdetektr"}})["nearest"][0];
  CHECK(nearest["name"] == "dos_detector");
  CHECK(nearest.contains("signature"));
  CHECK(nearest.contains("description"));
}

TEST_CASE("get_tool_definition answers with the entry, its category and its schemas", "[discovery]") {
  CatalogClient client;
  auto seed = client.ok(get_tool_definition, {{"tool_name", "dos_detector"}, {"category", "security"}});
  const Json expected = Json::parse(R"({"name":"dos_detector","mcp_server":"mcp_tools","category":"security",
    "description":"Detect denial of service attacks","functions":["analyze_access_log","get_report"],
    "use_cases":["Analyze traffic for attacks"],"since":2,"import":"from servers.mcp_tools import dos_detector"})");
  for (const auto& [key, value] : expected.items()) CHECK(seed[key] == value);
  auto widget = client.ok(get_tool_definition, {{"tool_name", "widget_3"}});
  CHECK(widget["inputSchema"]["required"] == Json{"angle"});
  CHECK(widget["outputSchema"]["type"] == "object");
  CHECK(widget["signature"] == "widget_3(angle: float) -> dict");
}

TEST_CASE("get_tool_definition answers about an unknown tool, too", "[discovery]") {
  CatalogClient client;
  auto answer = client.error(get_tool_definition, {{"tool_name", "store_memry"}}, "not_found");
  CHECK(answer["nearest"][0]["name"] == "store_memory");
  CHECK_THAT(answer["remedy"].get<std::string>(), Catch::Contains("did you mean 'store_memory'?"));
  CHECK_FALSE(client.error(get_tool_definition, {{"tool_name", "qqqqqqqqq"}}, "not_found").contains("nearest"));
}

TEST_CASE("get_tool_definition heeds category and server, and takes no tool for another of its name", "[discovery]") {
  CatalogClient client;
  auto several = client.error(get_tool_definition, {{"tool_name", "dos_detector"}}, "invalid");
  CHECK(several["candidates"].size() == 2);
  CHECK(client.ok(get_tool_definition, {{"tool_name", "dos_detector"}, {"category", "memory"}})["mcp_server"] ==
        "other");
  CHECK(client.ok(get_tool_definition, {{"tool_name", "dos_detector"}, {"server", "mcp_tools"}})["category"] ==
        "security");
  CHECK(client.ok(get_tool_definition, {{"tool_name", "other.dos_detector"}})["mcp_server"] == "other");
  auto wrong =
      client.error(get_tool_definition, {{"tool_name", "store_memory"}, {"category", "security"}}, "not_found");
  CHECK(wrong["nearest"][0]["category"] == "memory");
}

TEST_CASE("list_tool_categories counts what is there, whatever a file says", "[discovery]") {
  CatalogClient client;
  auto answer = client.ok(list_tool_categories, Json::object());
  CHECK(answer == Json::parse(R"({"categories":{"memory":{"description":"Remembering","tool_count":2},
    "security":{"description":"Security analysis","tool_count":1},"shop":{"description":"","tool_count":23}},
    "total_tools":26,"core_mcps":["enhanced-memory"],"servers":{"mcp_tools":1,"other":1,"widgets":23}})"));
  client.put("broken.json", "{");
  client.load();
  CHECK(client.ok(list_tool_categories, Json::object())["problems"] == 1);
}

TEST_CASE("list_tool_categories stays small, whatever there is", "[discovery]") {
  Library library;
  for (int i = 0; i < 600; i++)
    library.put("category_" + std::to_string(i) + "/server_with_a_name_" + std::to_string(i) + ".json",
                Json{{"description", std::string(300, 'd')}, {"tools", {{{"name", "t"}}, {{"name", "u"}}}}});
  library.put("big/big.json", Json{{"tools", {{{"name", "a"}}, {{"name", "b"}}, {{"name", "c"}}}}});
  const Json answer = *tools::list_tool_categories(library.load(), Json::object());
  CHECK(answer.dump().size() <= 2600);  // 800 tokens
  CHECK(answer["total_tools"] == 1203);
  CHECK(answer["categories"].contains("big"));
  CHECK(answer["servers"].contains("big"));
  CHECK_THAT(answer["hint"].get<std::string>(), Catch::Contains("of 601 categories"));
}

TEST_CASE("what is perhaps meant is said of a tool and of a server", "[discovery]") {
  CatalogClient client;
  CHECK(catalog::did_you_mean(*client.produced, "stor_memory", "") == "did you mean 'store_memory'?");
  CHECK(catalog::did_you_mean(*client.produced, "", "widgts") == "did you mean 'widgets'?");
  CHECK(catalog::did_you_mean(*client.produced, "widget0", "widgts") == "did you mean 'widgets__widget_0'?");
  CHECK(catalog::did_you_mean(*client.produced, "", "qqqqqqq").empty());
}

TEST_CASE("the discovery tools name what is wrong with their arguments", "[discovery]") {
  CatalogClient client;
  auto [tool, arguments, part] = GENERATE(table<CatalogClient::Tool*, Json, std::string>({
      {search_tools, Json::object(), "query"},
      {search_tools, Json{{"query", 7}}, "query"},
      {search_tools, Json{{"query", "x"}, {"detail_level", "everything"}}, "detail_level"},  // once: the same as full
      {search_tools, Json{{"query", "x"}, {"limit", 0}}, "limit"},
      {search_tools, Json{{"query", "x"}, {"limit", 51}}, "limit"},
      {search_tools, Json{{"query", "x"}, {"tags", "a"}}, "tags"},
      {search_tools, Json{{"query", "x"}, {"tags", Json(std::vector<std::string>(17, "t"))}}, "tags"},
      {search_tools, Json{{"query", "x"}, {"catgory", "a"}}, "catgory"},
      {get_tool_definition, Json::object(), "tool_name"},
      {get_tool_definition, Json{{"tool_name", "x"}, {"category", 1}}, "category"},
      {list_tool_categories, Json{{"x", 1}}, "x"},
  }));
  CAPTURE(arguments.dump().substr(0, 100));
  CHECK_THAT(client.error(tool, arguments, "invalid")["error"].get<std::string>(), Catch::Contains(part));
}

TEST_CASE("an empty catalogue answers, and says how tools come", "[discovery]") {
  using Catch::Contains;
  Library empty;
  const auto& result = empty.load();
  const Json found = *search(result, {{"query", "x"}}), counted = *tools::list_tool_categories(result, Json::object());
  CHECK(found["count"] == 0);
  CHECK(found["tools"] == Json::array());
  CHECK(counted["total_tools"] == 0);
  for (const Json& answer : {found, counted})
    CHECK_THAT(answer["hint"].get<std::string>(), Contains("an administrator adds servers"));
  const auto unknown = tools::get_tool_definition(result, {{"tool_name", "x"}});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::not_found);
  CHECK_THAT(unknown.error().hint, Contains("an administrator adds servers"));
}

TEST_CASE("a tool that cannot be called is marked, and stands last", "[discovery]") {
  using Catch::Contains;
  Library library;
  library.put("mail.json", Json{{"tools", {{{"name", "send_message"}, {"description", "Send an email"}}}}});
  auto builder = *catalog::CatalogBuilder::begin(library.temp.path().string());
  Json tools = Json::array();
  for (int i = 0; i < 9; i++)
    tools.push_back({{"name", "send_" + std::to_string(i)}, {"description", "Sends, not an email"}});
  builder.add("server ours", *catalog::read_definitions(Json{{"tools", tools}}, {"ours", ""}));
  builder.call_only_servers({});
  while (!builder.step(std::chrono::seconds(1))) {
  }
  const auto result = builder.take();
  auto search_for = [&](const char* query, int limit) {
    return *search(*result, {{"query", query}, {"limit", limit}});
  };
  // Keys of tools that can be called are as before.
  CHECK(keys(search_for("send", 1)["tools"][0]) == Names{"name", "category", "description", "mcp_server", "signature"});
  const Json named = search_for("send_message", 3);
  REQUIRE(named["count"] == 3);
  CHECK(named["tools"][0]["mcp_server"] == "ours");
  CHECK(named["tools"][2]["name"] == "send_message");
  CHECK(keys(named["tools"][2]) == Names{"name", "category", "description", "mcp_server", "callable"});
  CHECK(named["tools"][2]["callable"] == false);
  CHECK_THAT(named["hint"].get<std::string>(), Contains("3 of 10") && Contains("callable false"));
  CHECK(search_for("send_message", 1)["tools"][0]["mcp_server"] == "ours");
  CHECK_FALSE(search_for("send an email", 3)["tools"].dump().find("send_message") != std::string::npos);
  CHECK(search_for("send an email", 50)["tools"][9]["name"] == "send_message");
  const Json defined = *tools::get_tool_definition(*result, {{"tool_name", "send_message"}});
  CHECK(defined["callable"] == false);
  CHECK_FALSE(defined.contains("import"));
  CHECK_THAT(defined["hint"].get<std::string>(), Contains("from your client"));
  CHECK_FALSE((*tools::get_tool_definition(*result, {{"tool_name", "send_1"}})).contains("callable"));
  const Json counted = *tools::list_tool_categories(*result, Json::object());
  CHECK(counted["total_tools"] == 10);
  CHECK(counted["callable_tools"] == 9);
  CHECK((*tools::list_tools(*result, Json::object())).back() == "mail__send_message");
}

TEST_CASE("the discovery tools' definitions work in every client and stay small", "[discovery]") {
  size_t bytes = 0;
  for (const auto& tool : {tools::search_tools_definition(), tools::get_tool_definition_definition(),
                           tools::list_tool_categories_definition()}) {
    CAPTURE(tool.name);
    CHECK(mcp_test::portability_problems(tool).empty());
    CHECK(tool.annotations.read_only);
    bytes += tool.description.size() + tool.input_schema.dump().size();
  }
  CHECK(bytes < 1500);
}

TEST_CASE("the catalogue follows its folder", "[discovery]") {
  Library library;
  library.put("a.json", Json{{"tools", {{{"name", "one"}}}}});
  Loop loop;
  auto discovery = *discovery::Discovery::open(loop, library.temp.path().string());
  auto names = [&] {
    Names all;
    for (uint32_t tool = 0; tool < discovery->current()->size(); tool++)
      all.emplace_back(discovery->current()->tool(tool).name);
    return all;
  };
  // Until the folder's change is served; the deadline only ends a test that fails.
  auto becomes = [&](const Names& expected) {
    bool late = false;
    Deadline deadline(loop, std::chrono::seconds(20), [&] { late = true; });
    loop.run_until([&] { return late || names() == expected; });
    return names() == expected;
  };
  CHECK(names() == Names{"one"});
  const auto saved = discovery->current();

  library.put("new/folder/b.json", Json{{"tools", {{{"name", "two"}}}}});
  CHECK(becomes({"one", "two"}));
  library.put("new/folder/b.json", Json{{"tools", {{{"name", "three"}}}}});
  CHECK(becomes({"one", "three"}));
  library.put("a.json", "broken");
  CHECK(becomes({"three"}));
  CHECK(discovery->current()->problem_count() == 1);
  CHECK(saved->tool(0).name == "one");  // who still holds the old one reads on

  std::filesystem::remove_all(library.temp.path());
  auto reload = [](discovery::Discovery& of, bool& done) -> Task<> {
    co_await of.reload();
    done = true;
  };
  bool done = false;
  loop.spawn(reload(*discovery, done));
  loop.run_until([&] { return done; });
  CHECK(names() == Names{"three"});  // what cannot be read takes nothing away
}

TEST_CASE("without a folder there is nothing to discover; a missing one is an error", "[discovery]") {
  Loop loop;
  auto none = discovery::Discovery::open(loop, "");
  REQUIRE(none);
  CHECK((*none)->current()->size() == 0);
  auto missing = discovery::Discovery::open(loop, "/nonexistent/catalogue");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
}
