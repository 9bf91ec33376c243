#include "supervisor/protocol/mcp/elicitation.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

// A tool that asks whether to go on, and goes on when it is let, whatever the client says: so does a call that somebody
// else decided about.
struct Asking : Fixture {
  std::vector<std::shared_ptr<Event>> waiting;
  size_t done = 0;

  Asking() {
    mcp::ToolDefinition tool;
    tool.name = "ask";
    tool.description = "For tests.";
    tool.input_schema = {{"type", "object"}, {"properties", {{"bytes", {{"type", "integer"}}}}}};
    server.add_tool(std::move(tool), [this](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
      const auto question = context.elicit({"go on?"}, [](mcp::Elicited) {});
      const auto decided = waiting.emplace_back(std::make_shared<Event>());
      co_await *decided;
      done++;
      co_return mcp::ToolResult::text(std::string(arguments["bytes"].get<size_t>(), 'x'));
    });
  }
  Json asks(const Json& id, size_t bytes, const Json& state = nullptr) {
    Json params = {{"name", "ask"}, {"arguments", {{"bytes", bytes}}}};
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {{"elicitation", Json::object()}};
    if (!state.is_null()) params["requestState"] = state;
    return modern(id, "tools/call", params);
  }
  void decide() {
    for (const auto& item : waiting) item->fire();
    wait_until(loop, [this] { return done == waiting.size(); });
    settle(loop);
  }
};

}  // namespace

TEST_CASE("what came of a request is kept for a client that comes back late, up to so much", "[mcp]") {
  Asking fixture;
  auto client = fixture.connect();
  constexpr size_t kBytes = 5 << 20;  // two are more than is kept
  Json first = client->ask(fixture.asks(1, kBytes)), second = client->ask(fixture.asks(2, kBytes));
  CHECK(first["result"]["resultType"] == "input_required");
  fixture.decide();
  Json saved = client->ask(fixture.asks(3, kBytes, first["result"]["requestState"]));
  CHECK(saved["result"]["content"][0]["text"].get<std::string>().size() == kBytes);
  Json lost = client->ask(fixture.asks(4, kBytes, second["result"]["requestState"]));
  CHECK(lost["error"]["code"] == -32603);
  CHECK(lost["error"]["message"] ==
        "The call was done, but its answer was too large to be stored until the client asks for it");
}

TEST_CASE("a request is repeated just as it was, but for what says how it travels", "[mcp]") {
  Asking fixture;
  auto client = fixture.connect();
  const Json request = fixture.asks(1, 10), state = client->ask(request)["result"]["requestState"];
  for (const auto& [slot, value] : std::map<std::string, Json>{{"/params/arguments/bytes", 11},
                                                               {"/params/name", "echo"},
                                                               {"/params/another", 1},
                                                               {"/params/_meta/org.warder~1workspace", "b"}}) {
    Json other = fixture.asks(2, 10, state);
    other[Json::json_pointer(slot)] = value;
    INFO(slot);
    CHECK(client->ask(other)["error"]["code"] == -32602);
  }
  Json retry = fixture.asks(3, 10, state);
  retry["params"]["_meta"]["progressToken"] = "p";
  retry["params"]["_meta"]["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  retry["params"]["inputResponses"] = Json::object();
  CHECK(client->ask(retry)["result"]["resultType"] == "input_required");
}

TEST_CASE("a connection has so many questions open", "[mcp]") {
  mcp::Elicitations questions;
  std::vector<std::shared_ptr<mcp::Elicitation>> elicitations;
  for (size_t i = 0; i < mcp::Elicitations::kMax; i++) {
    elicitations.push_back(std::make_shared<mcp::Elicitation>());
    CHECK(questions.add(elicitations.back()));
  }
  auto more = std::make_shared<mcp::Elicitation>();
  CHECK_FALSE(questions.add(more));
  elicitations.pop_back();  // whoever asked has gone
  const auto key = questions.add(more);
  REQUIRE(key);
  CHECK(questions.take(*key) == more);
  CHECK(questions.take(*key) == nullptr);
}

namespace {

// A tool that asks for a name, the model's opinion and the folders, those that the client declared.
struct Curious : Fixture {
  struct Asked {
    Event done;
    mcp::Elicited answer;
    std::shared_ptr<mcp::Elicitation> question;
  };
  std::vector<std::string> reply;

  Curious() {
    mcp::ToolDefinition tool;
    tool.name = "curious";
    tool.description = "For tests.";
    server.add_tool(std::move(tool), [this](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
      using Kind = mcp::ElicitationForm::Kind;
      std::vector<std::unique_ptr<Asked>> all;
      for (const auto& [key, kind] :
           {std::pair{"name", Kind::form}, {"opinion", Kind::sampling}, {"folders", Kind::roots}}) {
        mcp::ElicitationForm form;
        form.key = key;
        form.kind = kind;
        if (kind == Kind::sampling) form.params = {{"maxTokens", 5}};
        auto item = std::make_unique<Asked>();
        item->question = context.elicit(std::move(form), [requested = item.get()](mcp::Elicited answer) {
          requested->answer = std::move(answer);
          requested->done.fire();
        });
        if (item->question) all.push_back(std::move(item));
      }
      for (const auto& item : all) {
        co_await item->done;
        reply.push_back(item->answer.content.dump());
      }
      co_return mcp::ToolResult::text("heard " + std::to_string(reply.size()));
    });
  }
  static Json asks(const Json& id, Json capabilities, Json more = Json::object()) {
    Json params = {{"name", "curious"}};
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = std::move(capabilities);
    for (const auto& [key, value] : more.items()) params[key] = value;
    return modern(id, "tools/call", params);
  }
};

const Json kAll = {{"elicitation", Json::object()}, {"sampling", Json::object()}, {"roots", Json::object()}};
const Json kAnswers = {{"name", {{"action", "accept"}, {"content", {{"name", "Ada"}}}}},
                       {"opinion", {{"role", "assistant"}, {"content", {{"type", "text"}, {"text", "good"}}}}},
                       {"folders", {{"roots", Json::array()}}}};

}  // namespace

TEST_CASE("questions have the names and kinds that the call gave them", "[mcp]") {
  Curious fixture;
  auto client = fixture.connect();
  const Json request = client->ask(Curious::asks(1, kAll))["result"];
  CHECK(request["inputRequests"]["name"]["method"] == "elicitation/create");
  CHECK(request["inputRequests"]["opinion"]["method"] == "sampling/createMessage");
  CHECK(request["inputRequests"]["opinion"]["params"]["maxTokens"] == 5);
  CHECK(request["inputRequests"]["folders"]["method"] == "roots/list");
  // A part of the answers: the other questions are asked again.
  const Json some = {
      {"requestState", request["requestState"]},
      {"inputResponses", {{"name", kAnswers["name"]}, {"opinion", {{"action", "accept"}}}, {"other", 1}}}};
  const Json retry = client->ask(Curious::asks(2, kAll, some))["result"];
  CHECK(retry["inputRequests"].size() == 2);
  CHECK_FALSE(retry["inputRequests"].contains("name"));
  const Json all = {{"requestState", retry["requestState"]}, {"inputResponses", kAnswers}};
  CHECK(client->ask(Curious::asks(3, kAll, all))["result"]["content"][0]["text"] == "heard 3");
  CHECK(fixture.reply[0] == R"({"name":"Ada"})");
}

TEST_CASE("a client is asked for what it declared only", "[mcp]") {
  Curious fixture;
  auto client = fixture.connect();
  const Json request = client->ask(Curious::asks(1, {{"sampling", Json::object()}}))["result"];
  CHECK(request["inputRequests"].size() == 1);
  CHECK(request["inputRequests"].contains("opinion"));
  CHECK(client->ask(Curious::asks(2, Json::object()))["result"]["content"][0]["text"] == "heard 0");
}

TEST_CASE("answers that come with the call are taken, and wrong ones are asked for", "[mcp]") {
  Curious fixture;
  auto client = fixture.connect();
  CHECK(client->ask(Curious::asks(1, kAll, {{"inputResponses", kAnswers}}))["result"]["content"][0]["text"] ==
        "heard 3");
  for (const Json& wrong :
       {Json(nullptr), Json(5), Json::array(), Json{{"name", 12345}, {"opinion", nullptr}, {"folders", "x"}}})
    CHECK(client->ask(Curious::asks(2, kAll, {{"inputResponses", wrong}}))["result"]["inputRequests"].size() == 3);
}

TEST_CASE("a legacy client is asked by requests of each kind", "[mcp]") {
  Curious fixture;
  auto client = fixture.connect();
  client->ask(request("hello", "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", kAll}}));
  client->send(call(1, "curious"));
  for (const char* name : {"name", "opinion", "folders"}) {
    const Json question = client->message();
    client->send({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", kAnswers[name]}});
  }
  CHECK(client->message()["result"]["content"][0]["text"] == "heard 3");
}
