// What several parts of a program offer together: prompts, resources, completion, methods of extensions.
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

mcp::PromptProvider numbered_prompts(std::string prefix, int count, std::string text) {
  mcp::PromptProvider provider;
  provider.list = [prefix, count](mcp::RequestContext&) -> Task<Result<std::vector<mcp::Prompt>>> {
    std::vector<mcp::Prompt> prompts;
    for (int i = 0; i < count; i++) prompts.push_back({prefix + std::to_string(i), "", "One of many.", {}});
    co_return prompts;
  };
  provider.get = [prefix, text](mcp::RequestContext&, std::string name, Json) -> Task<Result<mcp::PromptResult>> {
    if (!name.starts_with(prefix)) co_return fail(Code::not_found, "none of mine");
    mcp::PromptResult result;
    result.messages.push_back({mcp::PromptMessage::Role::user, mcp::Text{text + name}});
    co_return result;
  };
  return provider;
}

mcp::ResourceProvider one_resource(const std::string& scheme) {
  mcp::ResourceProvider provider;
  provider.prefixes = {scheme + "://"};
  provider.list = [scheme](mcp::RequestContext&, std::string) -> Task<Result<mcp::ResourcePage>> {
    mcp::ResourcePage page;
    page.resources.push_back({scheme + "://only", "only", "", "", "text/plain", {}});
    co_return page;
  };
  provider.read = [](mcp::RequestContext&, std::string uri) -> Task<Result<std::vector<mcp::ResourceContents>>> {
    std::vector<mcp::ResourceContents> contents;
    contents.push_back({uri, "text/plain", mcp::ResourceContents::Kind::text, "read " + uri});
    co_return contents;
  };
  provider.templates = {{scheme + "://{name}", scheme, "", "", ""}};
  provider.caching.ttl_ms = 1000;
  return provider;
}

std::vector<std::string> names(const Json& list, const char* key = "name") {
  std::vector<std::string> all;
  for (const auto& item : list) all.push_back(item[key]);
  return all;
}

mcp::CompletionHandler completes(std::string reference, std::string value) {
  return [reference, value](mcp::RequestContext&, mcp::CompletionRequest request) -> Task<Result<mcp::Completion>> {
    if (request.reference != reference) co_return fail(Code::not_found, "not mine");
    mcp::Completion completion;
    completion.values.push_back(value);
    co_return completion;
  };
}

}  // namespace

TEST_CASE("prompts of providers come after the fixed ones, page by page, the first of a name counts", "[mcp]") {
  Fixture f;
  f.server.add_prompt({"fixed", "", "", {}}, [](mcp::RequestContext&, Json) -> Task<Result<mcp::PromptResult>> {
    co_return mcp::PromptResult{"from the program", {}};
  });
  f.server.add_prompts(numbered_prompts("fix", 150, "first "));
  f.server.add_prompts(numbered_prompts("f", 3, "second "));
  f.server.add_prompts(numbered_prompts("fix", 2, "shadowed "));
  auto client = f.legacy();
  auto page = client->ask(request(1, "prompts/list"))["result"];
  CHECK(page["prompts"].size() == 100);
  CHECK(page["prompts"][0]["name"] == "fixed");
  CHECK(page["prompts"][1]["name"] == "fix0");
  page = client->ask(request(2, "prompts/list", {{"cursor", page["nextCursor"]}}))["result"];
  CHECK(page["prompts"].size() == 54);
  CHECK(names(page["prompts"]).back() == "f2");
  CHECK_FALSE(page.contains("nextCursor"));
  for (Json wrong : {Json("x"), Json("200"), Json("100x"), Json("-1"), Json("0"), Json("7"), Json(3)}) {
    CAPTURE(wrong);
    CHECK(client->ask(request(3, "prompts/list", {{"cursor", wrong}}))["error"]["code"] == -32602);
  }
  auto text = [&](const char* name) {
    return client->ask(request(4, "prompts/get", {{"name", name}}))["result"]["messages"][0]["content"]["text"];
  };
  CHECK(text("fix7") == "first fix7");
  CHECK(text("f1") == "second f1");
  CHECK(client->ask(request(5, "prompts/get", {{"name", "fixed"}}))["result"]["description"] == "from the program");
  CHECK(client->ask(request(6, "prompts/get", {{"name", "zzz"}}))["error"]["code"] == -32602);
  // What differs by requester is kept by nobody else.
  auto modern_list = client->ask(modern(7, "prompts/list"))["result"];
  CHECK(modern_list["cacheScope"] == "private");
  CHECK(modern_list["ttlMs"] == 0);
}

TEST_CASE("providers alone make prompts a capability", "[mcp]") {
  Fixture f;
  f.server.add_prompts(numbered_prompts("p", 0, ""));
  auto client = f.connect();
  CHECK(client->ask(modern(1, "server/discover"))["result"]["capabilities"].contains("prompts"));
  CHECK(client->ask(modern(2, "prompts/list"))["result"]["prompts"] == Json::array());
}

TEST_CASE("a resource is read by the provider of its prefix, and all are one list", "[mcp]") {
  Fixture f;
  f.server.add_resources(one_resource("a"));
  f.server.add_resources(one_resource("b"));
  auto client = f.legacy();
  CHECK(names(client->ask(request(1, "resources/list"))["result"]["resources"], "uri") ==
        std::vector<std::string>{"a://only", "b://only"});
  CHECK(names(client->ask(request(2, "resources/templates/list"))["result"]["resourceTemplates"]) ==
        std::vector<std::string>{"a", "b"});
  auto read = client->ask(modern(3, "resources/read", {{"uri", "b://x"}}))["result"];
  CHECK(read["contents"][0]["text"] == "read b://x");
  CHECK(read["ttlMs"] == 1000);
  CHECK(client->ask(request(4, "resources/read", {{"uri", "c://x"}}))["error"]["code"] == -32002);
}

TEST_CASE("completion asks one handler after the other; a reference that nobody knows is an error", "[mcp]") {
  Fixture f;
  f.server.add_completion(completes("a", "from a"));
  f.server.add_completion(completes("b", "from b"));
  auto client = f.legacy();
  auto ask = [&](const char* name) {
    Json params = {{"ref", {{"type", "ref/prompt"}, {"name", name}}}, {"argument", {{"name", "x"}, {"value", ""}}}};
    return client->ask(request(1, "completion/complete", params));
  };
  CHECK(ask("b")["result"]["completion"] == Json::parse(R"({"values":["from b"],"hasMore":false})"));
  CHECK(ask("c")["error"]["code"] == -32602);
}

TEST_CASE("methods of extensions answer in both eras, and the extension is announced", "[mcp]") {
  Fixture f;
  f.server.add_extension("org.example/things", {{"fast", true}});
  auto handler = [](mcp::RequestContext&, Json params) -> Task<Result<Json>> {
    if (params.contains("wrong")) co_return fail(Code::invalid, "that is wrong");
    Json answer = {{"things", Json::array({1, 2})}};
    co_return answer;
  };
  f.server.add_method("things/list", handler, mcp::Caching{5, mcp::Caching::Scope::requester});
  CHECK_THROWS_AS(f.server.add_method("things/list", handler), std::invalid_argument);
  CHECK_THROWS_AS(f.server.add_method("tools/list", handler), std::invalid_argument);
  auto client = f.legacy();
  CHECK(client->ask(request(1, "things/list"))["result"] == Json::parse(R"({"things":[1,2]})"));
  auto answer = client->ask(modern(2, "things/list"))["result"];
  CHECK(answer["things"].size() == 2);
  CHECK(answer["ttlMs"] == 5);
  CHECK(answer["resultType"] == "complete");
  CHECK(client->ask(request(3, "things/list", {{"wrong", 1}}))["error"]["code"] == -32602);
  CHECK(client->ask(modern(4, "server/discover"))["result"]["capabilities"]["extensions"] ==
        Json::parse(R"({"org.example/things":{"fast":true}})"));
  auto old = f.connect();
  auto hello =
      old->ask(request(0, "initialize", {{"protocolVersion", "2025-06-18"}, {"capabilities", Json::object()}}));
  CHECK_FALSE(hello["result"]["capabilities"].contains("extensions"));
}
