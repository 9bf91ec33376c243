// What is looked at before an answer leaves: every text of it, and JSON stays JSON.
#include "supervisor/protocol/mcp/response_filter.h"

#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

Json called(int id, const std::string& tool, Json arguments = Json::object()) {
  return modern(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
}

// Replaces "ada" by "[A]" and long numbers by "[N]"; fails for "poison".
struct ReplaceTexts : mcp::TextFilter {
  Result<std::string> redact(std::string_view text) override {
    if (text.find("poison") != text.npos) return fail(Code::exhausted, "poison is the word", "wait", "pii.vault");
    std::string cleaned(text);
    for (size_t at = 0; (at = cleaned.find("ada", at)) != cleaned.npos;) cleaned.replace(at, 3, "[A]");
    for (size_t at = 0; (at = cleaned.find("4111111111111111", at)) != cleaned.npos;) cleaned.replace(at, 16, "[N]");
    return cleaned;
  }
};

struct Replace : mcp::ResponseFilter {
  explicit Replace(size_t& settled, std::shared_ptr<Event> event = {}) : settled_(settled), held_(std::move(event)) {}
  Task<Result<>> apply(Job job) override {
    ReplaceTexts texts;
    CO_CHECKED(job(texts));
    settled_++;
    if (held_) co_await *held_;
    co_return Result<>{};
  }
  size_t& settled_;
  std::shared_ptr<Event> held_;
};

struct Cleaned : Fixture {
  size_t settled = 0;
  bool on = true;
  std::shared_ptr<Event> reserved;  // until then nothing is settled
  Cleaned() {
    server.set_response_filter([this](const mcp::RequestContext&) -> std::unique_ptr<mcp::ResponseFilter> {
      if (!on) return nullptr;
      return std::make_unique<Replace>(settled, reserved);
    });
  }
};

Json cleaned(Json value) {
  ReplaceTexts texts;
  REQUIRE(mcp::redact_value(texts, value));
  return value;
}

std::string redact_text(std::string text) {
  ReplaceTexts texts;
  auto result = mcp::ToolResult::text(std::move(text));
  REQUIRE(mcp::redact(texts, result));
  return std::get<mcp::Text>(result.content.at(0)).text;
}

// Everything that providers and extensions say names ada.
void offer_ada(mcp::Server& server) {
  mcp::ResourceProvider resources;
  resources.list = [](mcp::RequestContext&, std::string) -> Task<Result<mcp::ResourcePage>> {
    mcp::ResourcePage page;
    page.resources.push_back({"x://ada", "ada", "", "of ada", "", {}});
    page.next_cursor = "ada";
    co_return page;
  };
  resources.read = [](mcp::RequestContext&, std::string uri) -> Task<Result<std::vector<mcp::ResourceContents>>> {
    std::vector<mcp::ResourceContents> contents;
    contents.push_back({uri, "text/plain", mcp::ResourceContents::Kind::text, "of ada"});
    co_return contents;
  };
  server.add_resources(std::move(resources));
  mcp::PromptProvider prompts;
  prompts.list = [](mcp::RequestContext&) -> Task<Result<std::vector<mcp::Prompt>>> {
    mcp::PromptArgument argument;
    argument.name = argument.description = "ada";
    mcp::Prompt prompt{"ada", "of ada", "for ada", {}};
    prompt.arguments.push_back(std::move(argument));
    std::vector<mcp::Prompt> all;
    all.push_back(std::move(prompt));
    co_return all;
  };
  prompts.get = [](mcp::RequestContext&, std::string name, Json) -> Task<Result<mcp::PromptResult>> {
    if (name != "greet") co_return fail(Code::invalid, "ada has no such prompt");
    mcp::PromptResult result;
    result.description = "for ada";
    mcp::ResourceContents file{"x://a%64a", "", mcp::ResourceContents::Kind::text, "of ada"};
    result.messages.push_back({mcp::PromptMessage::Role::user, mcp::Text{"ada"}});
    result.messages.push_back({mcp::PromptMessage::Role::user, std::move(file)});
    co_return result;
  };
  server.add_prompts(std::move(prompts));
  server.add_completion([](mcp::RequestContext&, mcp::CompletionRequest) -> Task<Result<mcp::Completion>> {
    mcp::Completion completion;
    completion.values.push_back("ada");
    co_return completion;
  });
  server.add_method("things/list", [](mcp::RequestContext&, Json params) -> Task<Result<Json>> {
    if (params.contains("wrong")) co_return fail(Code::invalid, "ada", "ask ada", "ada.rule");
    Json answer = {{"things", {"ada", {{"ada", "x://a%64a"}}}}};
    co_return answer;
  });
}

}  // namespace

TEST_CASE("texts of a tool's answer are looked at before they leave, for those who want it", "[mcp]") {
  Cleaned f;
  auto client = f.connect();
  CHECK(client->ask(called(1, "echo", {{"text", "ada l."}}))["result"]["content"][0]["text"] == "[A] l.");
  CHECK(f.settled == 1);
  f.on = false;
  CHECK(client->ask(called(2, "echo", {{"text", "ada l."}}))["result"]["content"][0]["text"] == "ada l.");
}

TEST_CASE("an answer leaves when what it names is settled, and other requests are answered meanwhile", "[mcp]") {
  Cleaned f;
  f.reserved = std::make_shared<Event>();
  auto client = f.connect();
  client->send(called(1, "echo", {{"text", "ada"}}));
  CHECK(client->silent());
  CHECK(f.settled == 1);
  CHECK(client->ask(modern(2, "server/discover"))["id"] == 2);
  f.reserved->fire();
  CHECK(client->message()["result"]["content"][0]["text"] == "[A]");
}

TEST_CASE("errors are looked at, too", "[mcp]") {
  Cleaned f;
  auto client = f.connect();
  CHECK(client->ask(called(1, "no-ada"))["error"]["message"] == "Unknown tool: no-[A]");
  auto refused = client->ask(called(2, "echo", {{"ada", 1}}))["result"];
  CHECK(refused["isError"] == true);
  CHECK(refused.dump().find("ada") == std::string::npos);
}

TEST_CASE("an answer that cannot be looked at is withheld, and says neither it nor why in its words", "[mcp]") {
  Cleaned f;
  auto client = f.connect();
  auto withheld = client->ask(called(1, "echo", {{"text", "poison"}}))["result"];
  CHECK(withheld["isError"] == true);
  CHECK(withheld["structuredContent"]["code"] == "exhausted");
  CHECK(withheld["structuredContent"]["rule"] == "pii.vault");
  CHECK(withheld.dump().find("poison") == std::string::npos);
  auto error = client->ask(called(2, "no-poison"))["error"];
  CHECK(error.dump().find("poison") == std::string::npos);
}

TEST_CASE("JSON is cleaned value by value and stays JSON", "[mcp]") {
  CHECK(cleaned({{"ada", {1, "ada", {{"x", "ada ada"}}}}, {"b", nullptr}}).dump() ==
        R"({"[A]":[1,"[A]",{"x":"[A] [A]"}],"b":null})");
  CHECK(redact_text(R"({"z":"a\nada","a":1.5})") == R"({"z":"a\n[A]","a":1.5})");  // the order stays
  CHECK(redact_text(R"({"ada":)") == R"({"[A]":)");                                // that is no JSON
  CHECK(redact_text("{not json} ada") == "{not json} [A]");
}

TEST_CASE("text in base64 is looked at, and stays base64; other bytes stay what they are", "[mcp]") {
  const std::string text = "write to ada, who knows", picture("\x89PNG\r\n\x1a\nada ada ada", 19);
  CHECK(cleaned(to_base64(text)) == to_base64("write to [A], who knows"));
  CHECK(cleaned({{"content", to_base64(text)}})["content"] == to_base64("write to [A], who knows"));
  CHECK(cleaned(to_base64(picture)) == to_base64(picture));
  CHECK(cleaned("four letters word") == "four letters word");
  ReplaceTexts texts;
  mcp::ResourceContents blob;
  blob.kind = mcp::ResourceContents::Kind::blob;
  blob.data = to_base64(text);
  std::vector<mcp::ResourceContents> contents{blob};
  REQUIRE(mcp::redact(texts, contents));
  CHECK(contents[0].data == to_base64("write to [A], who knows"));
}

TEST_CASE("numbers that may be a card's are looked at", "[mcp]") {
  CHECK(cleaned({{"n", 4111111111111111}, {"m", -4111111111111111}, {"k", 41}}).dump() ==
        R"({"n":"[N]","m":"-[N]","k":41})");
  CHECK(dump_json(cleaned(parse_json("[4111111111111111.00000000000000001,1e400,-0]").value())) ==
        R"(["[N].00000000000000001",1e400,-0])");
}

TEST_CASE("lines are looked at together", "[mcp]") {
  struct Joined : mcp::TextFilter {
    Result<std::string> redact(std::string_view text) override {
      std::string cleaned(text);
      if (auto at = cleaned.find("begin\nend"); at != cleaned.npos) cleaned.replace(at, 9, "[K]");
      return cleaned;
    }
  } texts;
  Json lines = {"a", "begin", "end", ""};
  REQUIRE(mcp::redact_value(texts, lines));
  CHECK(lines.dump() == R"(["a","[K]",""])");
}

TEST_CASE("structured content and its text stay the same thing", "[mcp]") {
  ReplaceTexts texts;
  auto result = mcp::ToolResult::data({{"name", "ada\nada"}});
  REQUIRE(mcp::redact(texts, result));
  CHECK(result.structured->dump() == R"({"name":"[A]\n[A]"})");
  CHECK(std::get<mcp::Text>(result.content.at(0)).text == R"({"name":"[A]\n[A]"})");
}

TEST_CASE("resources, prompts, completions and links are looked at; pictures are not", "[mcp]") {
  ReplaceTexts texts;
  std::vector<mcp::ResourceContents> contents(2);
  contents[0].data = "ada";
  contents[1] = {"u", "", mcp::ResourceContents::Kind::blob, "adaa"};
  REQUIRE(mcp::redact(texts, contents));
  CHECK(contents[0].data == "[A]");
  CHECK(contents[1].data == "adaa");

  mcp::ResourcePage page;
  page.resources.push_back({"file:///a%64a.txt", "ada.txt", "", "of ada", "", {}});
  page.resources.push_back({"file:///b%20c.txt", "b c.txt", "", "", "", {}});
  REQUIRE(mcp::redact(texts, page));
  CHECK(page.resources[0].uri == "file:///[A].txt");
  CHECK(page.resources[0].name == "[A].txt");
  CHECK(page.resources[0].description == "of [A]");
  CHECK(page.resources[1].uri == "file:///b%20c.txt");

  mcp::PromptResult prompt;
  prompt.description = "ada";
  prompt.messages.push_back({mcp::PromptMessage::Role::user, mcp::Text{"ada"}});
  REQUIRE(mcp::redact(texts, prompt));
  CHECK(prompt.description == "[A]");
  CHECK(std::get<mcp::Text>(prompt.messages[0].content).text == "[A]");

  mcp::Completion completion;
  completion.values = {"ada", "b"};
  REQUIRE(mcp::redact(texts, completion));
  CHECK(completion.values == std::vector<std::string>{"[A]", "b"});
}

TEST_CASE("progress tells no text where texts are looked at", "[mcp]") {
  Cleaned f;
  auto client = f.connect();
  auto ask = called(1, "steps");
  ask["params"]["_meta"]["progressToken"] = "t";
  client->send(ask);
  size_t reported = 0;
  for (Json message = client->message(); message.contains("method"); message = client->message()) {
    CHECK_FALSE(message["params"].contains("message"));
    reported++;
  }
  CHECK(reported > 0);
}

TEST_CASE("what providers and extensions answer is looked at, whatever the method", "[mcp]") {
  Cleaned f;
  offer_ada(f.server);
  const Json reference = {{"type", "ref/prompt"}, {"name", "p"}};
  const auto [method, params, expected] = GENERATE_COPY(table<std::string, Json, std::string>({
      {"resources/list", Json::object(), R"("nextCursor":"0:[A]")"},
      {"resources/read", {{"uri", "x://y"}}, R"("text":"of [A]")"},
      {"prompts/list", Json::object(), R"("title":"of [A]","description":"for [A]")"},
      {"prompts/get", {{"name", "greet"}}, R"("uri":"x://[A]")"},
      {"prompts/get", {{"name", "other"}}, R"("message":"[A] has no such prompt")"},
      {"completion/complete",
       {{"ref", reference}, {"argument", {{"name", "x"}, {"value", ""}}}},
       R"("values":["[A]"])"},
      {"things/list", Json::object(), R"("things":["[A]",{"[A]":"x://[A]"}])"},
      {"things/list", {{"wrong", 1}}, R"("remedy":"ask [A]")"},
  }));
  CAPTURE(method);
  auto client = f.connect();
  const std::string answer = client->ask(modern(1, method, params)).dump();
  CHECK(answer.find(expected) != answer.npos);
  CHECK(answer.find("ada") == answer.npos);
  CHECK(answer.find("a%64a") == answer.npos);
  f.on = false;
  CHECK(client->ask(modern(2, method, params)).dump().find("ada") != answer.npos);
}
