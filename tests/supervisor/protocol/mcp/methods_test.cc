// Both eras, method by method.
#include "supervisor/protocol/mcp/definitions.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

TEST_CASE("initialize settles a version and never fails for one we do not know", "[mcp]") {
  auto [requested, answered] = GENERATE(table<std::string, std::string>({
      {"2024-11-05", "2024-11-05"},
      {"2025-03-26", "2025-03-26"},
      {"2025-06-18", "2025-06-18"},
      {"2025-11-25", "2025-11-25"},
      {"2026-07-28", "2025-11-25"},
      {"1999-01-01", "2025-11-25"},
      {"", "2025-11-25"},
  }));
  CAPTURE(requested);
  Fixture f;
  auto client = f.connect();
  auto answer =
      client->ask(request(0, "initialize", {{"protocolVersion", requested}, {"capabilities", Json::object()}}));
  CHECK(answer["id"] == 0);
  CHECK(answer["result"]["protocolVersion"] == answered);
  CHECK(answer["result"]["serverInfo"]["name"] == "test");
  CHECK(answer["result"]["serverInfo"].contains("title") == (answered >= "2025-06-18"));
  CHECK(answer["result"]["instructions"] == "Be kind.");
  CHECK(answer["result"]["capabilities"] == Json::parse(R"({"tools":{},"logging":{}})"));
  CHECK_FALSE(answer["result"].contains("resultType"));
  CHECK_FALSE(answer["result"].contains("_meta"));
}

TEST_CASE("server/discover tells everything a modern client needs, without a handshake", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  auto result = client->ask(modern("d", "server/discover"))["result"];
  CHECK(result["supportedVersions"] == Json::array({"2026-07-28"}));
  CHECK(result["resultType"] == "complete");
  CHECK(result["ttlMs"].is_number_integer());
  CHECK(result["cacheScope"] == "public");
  CHECK(result["instructions"] == "Be kind.");
  CHECK(result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == "1.2.3");
  CHECK(result["capabilities"].contains("tools"));
  CHECK_FALSE(result["capabilities"].contains("resources"));
}

TEST_CASE("one connection serves both eras, request by request", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  CHECK(client->ask(modern(1, "tools/list"))["result"]["resultType"] == "complete");
  client->ask(request(2, "initialize", {{"protocolVersion", "2024-11-05"}}));
  auto legacy = client->ask(request(3, "tools/list"))["result"];
  CHECK_FALSE(legacy.contains("resultType"));
  CHECK_FALSE(legacy["tools"][0].contains("annotations"));
  CHECK(client->ask(modern(4, "tools/list"))["result"]["tools"][0]["annotations"] == Json{{"readOnlyHint", true}});
  CHECK(client->ask(request(5, "ping"))["result"] == Json::object());
}

TEST_CASE("a request that cannot be served gets the error of its standard", "[mcp]") {
  const std::string v = "io.modelcontextprotocol/protocolVersion", c = "io.modelcontextprotocol/clientCapabilities";
  auto [meta, method, code] = GENERATE_COPY(table<Json, std::string, int>({
      {Json::object(), "tools/list", -32602},  // neither era
      {Json::object(), "server/discover", -32602},
      {Json::object(), "no/such", -32601},
      {{{v, "2026-07-28"}}, "server/discover", -32602},
      {{{c, Json::object()}}, "server/discover", -32602},
      {{{v, "2026-07-28"}, {c, 1}}, "server/discover", -32602},
      {{{v, 7}, {c, Json::object()}}, "server/discover", -32602},
      {{{v, "2031-01-01"}, {c, Json::object()}}, "server/discover", -32022},
      {{{v, "2025-11-25"}, {c, Json::object()}}, "server/discover", -32022},
      {{{v, "2026-07-28"}, {c, Json::object()}}, "no/such", -32601},
      {{{v, "2026-07-28"}, {c, Json::object()}}, "ping", -32601},
      {{{v, "2026-07-28"}, {c, Json::object()}}, "initialize", -32601},
      {{{v, "2026-07-28"}, {c, Json::object()}}, "logging/setLevel", -32601},
      {{{v, "2026-07-28"}, {c, Json::object()}}, "resources/list", -32601},  // not offered
      {{{v, "2026-07-28"}, {c, Json::object()}}, "prompts/list", -32601},
      {{{v, "2026-07-28"}, {c, Json::object()}, {"progressToken", 1.5}}, "tools/list", -32602},
      {7, "tools/list", -32602},
  }));
  CAPTURE(meta, method);
  Fixture f;
  auto client = f.connect();
  auto answer = client->ask(request("x", method, {{"_meta", meta}}));
  CHECK(answer["id"] == "x");
  CHECK(answer["error"]["code"] == code);
  if (code == -32022) {
    CHECK(answer["error"]["data"]["supported"] == Json::array({"2026-07-28"}));
    CHECK(answer["error"]["data"]["requested"] == meta[v]);
  }
  CHECK(client->ask(request(1, "ping"))["result"] == Json::object());  // and lives on
}

TEST_CASE("tools are listed in the order of registration, with what each version knows", "[mcp]") {
  Fixture f;
  auto client = f.legacy("2025-03-26");
  auto tools = client->ask(request(1, "tools/list"))["result"]["tools"];
  std::vector<std::string> names;
  for (const auto& tool : tools) names.push_back(tool["name"]);
  CHECK(names ==
        std::vector<std::string>{"echo", "hold", "steps", "log", "boom", "big", "data", "needs_sampling", "wait"});
  CHECK_FALSE(tools[6].contains("outputSchema"));
  CHECK(tools[0]["annotations"] == Json{{"readOnlyHint", true}});
  CHECK_FALSE(tools[1].contains("annotations"));  // as the specification takes them to be
  CHECK(client->ask(modern(2, "tools/list"))["result"]["tools"][6]["outputSchema"]["type"] == "object");
  CHECK(client->ask(request(3, "tools/list", {{"cursor", "page2"}}))["error"]["code"] == -32602);
}

TEST_CASE("hints are listed where they are not the defaults, schemas where they say something", "[mcp]") {
  std::string listed;
  mcp::ToolDefinition tool;
  tool.name = "look";
  tool.input_schema = {{"type", "object"}};
  tool.output_schema = tool.input_schema;  // any object: not listed
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  mcp::append_tool(listed, tool, mcp::kNewestModern);
  CHECK(listed == R"({"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}})");
}

TEST_CASE("an unknown tool names the nearest one that is offered", "[mcp]") {
  Fixture f;
  f.server.set_nearest_tool([](std::string_view name, const std::vector<std::string_view>& offered) {
    CHECK(offered.size() == 9);
    return name == "ecko" ? offered[0] : std::string_view();
  });
  auto client = f.legacy();
  const Json near = client->ask(call(1, "ecko"))["error"];
  CHECK(near["code"] == -32602);
  CHECK(near["message"] == "Unknown tool: ecko; the nearest is echo");
  CHECK(near["data"]["nearest"] == "echo");
  CHECK(client->ask(call(2, "zzz"))["error"]["message"] == "Unknown tool: zzz");
}

TEST_CASE("every failure of a call has one shape", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  const auto [id, tool, arguments, code] = GENERATE(table<int, std::string, Json, std::string>({
      {1, "echo", Json{{"txet", "x"}}, "invalid"},
      {2, "needs_sampling", Json::object(), "denied"},
      {3, "big", Json{{"bytes", 9'000'000}}, "exhausted"},
  }));
  const Json result = client->ask(call(id, tool, arguments))["result"];
  CAPTURE(result.dump());
  CHECK(result["isError"] == true);
  CHECK(result["structuredContent"]["success"] == false);
  CHECK(result["structuredContent"]["error"].is_string());
  CHECK(result["structuredContent"]["code"] == code);
  CHECK(Json::parse(result["content"][0]["text"].get<std::string>()) == result["structuredContent"]);
}

TEST_CASE("wrong arguments are the model's to correct, a wrong tool is the client's error", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  CHECK(client->ask(call(1, "no_such"))["error"]["code"] == -32602);
  CHECK(client->ask(request(2, "tools/call", Json::object()))["error"]["code"] == -32602);
  CHECK(client->ask(request(3, "tools/call", {{"name", "echo"}, {"arguments", 5}}))["error"]["code"] == -32602);

  auto wrong = client->ask(call(4, "echo", {{"txt", "x"}}))["result"];
  CHECK(wrong["isError"] == true);
  CHECK(wrong["structuredContent"]["error"] ==
        "echo: argument 'text': missing, but required\nargument 'txt': unknown; this tool takes text");

  // No arguments at all are an empty object.
  CHECK(client->ask(request(5, "tools/call", {{"name", "data"}}))["result"]["content"][0]["text"] ==
        R"({"b":1,"a":2})");
}

TEST_CASE("structured content goes only to versions that know it", "[mcp]") {
  Fixture f;
  CHECK_FALSE(f.legacy("2025-03-26")->ask(call(1, "data"))["result"].contains("structuredContent"));
  CHECK(f.legacy("2025-06-18")->ask(call(1, "data"))["result"]["structuredContent"]["a"] == 2);
}

TEST_CASE("a tool that needs a capability is refused to clients without it", "[mcp]") {
  Fixture f;
  auto client = f.connect();
  Json params = {{"name", "needs_sampling"}};
  auto refused = client->ask(modern(1, "tools/call", params));
  CHECK(refused["error"]["code"] == -32021);
  CHECK(refused["error"]["data"]["requiredCapabilities"] == Json::parse(R"({"sampling":{}})"));
  params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {{"sampling", Json::object()}};
  CHECK(client->ask(modern(2, "tools/call", params))["result"]["content"][0]["text"] == "fine");
  CHECK(f.legacy()->ask(call(3, "needs_sampling"))["result"]["isError"] == true);
}

TEST_CASE("a handler that throws costs its caller an error and nobody else anything", "[mcp]") {
  Fixture f;
  auto client = f.legacy();
  auto answer = client->ask(call(1, "boom"));
  CHECK(answer["error"]["code"] == -32603);
  CHECK(answer.dump().find("secret") == std::string::npos);
  CHECK(client->ask(call(2, "echo", {{"text", "on"}}))["result"]["content"][0]["text"] == "on");
}

TEST_CASE("an answer that is too large becomes an error that says so", "[mcp]") {
  Fixture f;
  f.limits.reply_bytes = 10'000;
  auto client = f.legacy();
  CHECK(client->ask(call(1, "big", {{"bytes", 9'000}}))["result"]["content"][0]["text"].get<std::string>().size() ==
        9'000);
  auto answer = client->ask(call(2, "big", {{"bytes", 10'001}}))["result"];
  CHECK(answer["isError"] == true);
  CHECK(answer["content"][0]["text"].get<std::string>().find("10001 bytes, the limit is 10000") != std::string::npos);
  // What grows by escaping is seen too.
  CHECK(client->ask(call(3, "echo", {{"text", std::string(5'000, '\n')}}))["result"]["isError"] == true);
}

TEST_CASE("log messages reach whoever asked for them", "[mcp]") {
  Fixture f;
  SECTION("legacy: by level") {
    auto client = f.legacy();
    CHECK(client->ask(request(1, "logging/setLevel", {{"level", "error"}}))["result"] == Json::object());
    auto message = client->ask(call(2, "log"));
    CHECK(message["method"] == "notifications/message");
    CHECK(message["params"] == Json::parse(R"({"level":"error","logger":"test","data":"bad"})"));
    CHECK(client->message()["id"] == 2);
    CHECK(client->ask(request(3, "logging/setLevel", {{"level", "loud"}}))["error"]["code"] == -32602);
  }
  SECTION("modern: by request, else never") {
    auto client = f.connect();
    Json params = {{"name", "log"}};
    CHECK(client->ask(modern(1, "tools/call", params))["id"] == 1);
    params["_meta"]["io.modelcontextprotocol/logLevel"] = "debug";
    CHECK(client->ask(modern(2, "tools/call", params))["params"]["data"] == "fine");
    CHECK(client->message()["params"]["data"] == "bad");
    CHECK(client->message()["id"] == 2);
  }
}

namespace {

void offer_resources(mcp::Server& server) {
  mcp::ResourceProvider provider;
  provider.list = [](mcp::RequestContext&, std::string cursor) -> Task<Result<mcp::ResourcePage>> {
    if (!cursor.empty() && cursor != "2") co_return fail(Code::invalid, "unknown cursor");
    mcp::ResourcePage page;
    page.resources.push_back({"test://" + (cursor.empty() ? "1" : cursor), "one", "", "", "text/plain", 5});
    if (cursor.empty()) page.next_cursor = "2";
    co_return page;
  };
  provider.read = [](mcp::RequestContext&, std::string uri) -> Task<Result<std::vector<mcp::ResourceContents>>> {
    std::vector<mcp::ResourceContents> contents;
    if (uri == "test://denied") co_return fail(Code::denied, "not yours", "ask", "limits.read");
    if (uri == "test://empty") co_return contents;
    if (uri != "test://1") co_return fail(Code::not_found, "no such resource");
    contents.push_back({uri, "text/plain", mcp::ResourceContents::Kind::text, "hello"});
    co_return contents;
  };
  provider.templates = {{"test://{n}", "numbered", "", "By number.", "text/plain"}};
  server.add_resources(std::move(provider));
}

}  // namespace

TEST_CASE("resources are listed by page, read, and missed as each era wants it", "[mcp]") {
  Fixture f;
  offer_resources(f.server);
  auto client = f.legacy();
  auto page = client->ask(request(1, "resources/list"))["result"];
  CHECK(page["resources"][0]["uri"] == "test://1");
  CHECK(page["resources"][0]["size"] == 5);
  page = client->ask(request(2, "resources/list", {{"cursor", page["nextCursor"]}}))["result"];
  CHECK(page["resources"][0]["uri"] == "test://2");
  CHECK_FALSE(page.contains("nextCursor"));
  for (const char* wrong : {"3", "0:3", "1:", "x:2", ":"}) {
    CHECK(client->ask(request(3, "resources/list", {{"cursor", wrong}}))["error"]["code"] == -32602);
  }
  CHECK(client->ask(request(4, "resources/templates/list"))["result"]["resourceTemplates"][0]["uriTemplate"] ==
        "test://{n}");

  auto read = client->ask(modern(5, "resources/read", {{"uri", "test://1"}}))["result"];
  CHECK(read["contents"] == Json::parse(R"([{"uri":"test://1","mimeType":"text/plain","text":"hello"}])"));
  CHECK(read["ttlMs"] == 0);
  CHECK(read["cacheScope"] == "private");

  for (const char* uri : {"test://2", "test://empty"}) {
    auto modern_miss = client->ask(modern(6, "resources/read", {{"uri", uri}}))["error"];
    CHECK(modern_miss["code"] == -32602);
    CHECK(modern_miss["data"]["uri"] == uri);
    CHECK(client->ask(request(7, "resources/read", {{"uri", uri}}))["error"]["code"] == -32002);
  }
  auto denied = client->ask(request(8, "resources/read", {{"uri", "test://denied"}}))["error"];
  CHECK(denied["code"] == -32603);
  CHECK(denied["data"] == Json::parse(R"({"code":"denied","rule":"limits.read","remedy":"ask"})"));
  CHECK(client->ask(request(9, "resources/read"))["error"]["code"] == -32602);
}

TEST_CASE("prompts and completion answer when they are offered", "[mcp]") {
  Fixture f;
  mcp::Prompt prompt{"greet", "Greet", "Greets.", {{"who", "Whom.", mcp::PromptArgument::Need::required}}};
  f.server.add_prompt(prompt, [](mcp::RequestContext&, Json arguments) -> Task<Result<mcp::PromptResult>> {
    mcp::PromptResult result;
    result.messages.push_back({mcp::PromptMessage::Role::user, mcp::Text{"Hi " + arguments["who"].get<std::string>()}});
    co_return result;
  });
  f.server.add_completion(
      [](mcp::RequestContext&, mcp::CompletionRequest completion_request) -> Task<Result<mcp::Completion>> {
        mcp::Completion completion;
        for (int i = 0; i < 150; i++) completion.values.push_back(completion_request.value + std::to_string(i));
        co_return completion;
      });
  auto client = f.legacy();
  CHECK(client->ask(request(1, "prompts/list"))["result"]["prompts"][0]["arguments"][0]["required"] == true);
  auto got = client->ask(request(2, "prompts/get", {{"name", "greet"}, {"arguments", {{"who", "you"}}}}))["result"];
  CHECK(got["messages"] == Json::parse(R"([{"role":"user","content":{"type":"text","text":"Hi you"}}])"));
  CHECK(client->ask(request(3, "prompts/get", {{"name", "greet"}}))["error"]["code"] == -32602);
  CHECK(client->ask(request(4, "prompts/get", {{"name", "greet"}, {"arguments", {{"who", 1}}}}))["error"]["code"] ==
        -32602);
  CHECK(client->ask(request(5, "prompts/get", {{"name", "nope"}}))["error"]["code"] == -32602);

  Json params = {{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}}, {"argument", {{"name", "who"}, {"value", "a"}}}};
  auto completion = client->ask(request(6, "completion/complete", params))["result"]["completion"];
  CHECK(completion["values"].size() == 100);
  CHECK(completion["values"][1] == "a1");
  CHECK(completion["hasMore"] == true);
  CHECK(client->ask(request(7, "completion/complete", {{"ref", 1}}))["error"]["code"] == -32602);
}
