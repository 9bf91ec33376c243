#include "supervisor/mcp/elicitation.h"
#include "tests/supervisor/mcp/harness.h"

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
    for (const auto& one : waiting) one->fire();
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
  Json kept = client->ask(fixture.asks(3, kBytes, first["result"]["requestState"]));
  CHECK(kept["result"]["content"][0]["text"].get<std::string>().size() == kBytes);
  Json lost = client->ask(fixture.asks(4, kBytes, second["result"]["requestState"]));
  CHECK(lost["error"]["code"] == -32603);
  CHECK(lost["error"]["message"] ==
        "The call was done, but its answer was too large to be stored until the client asks for it");
}

TEST_CASE("a request is repeated just as it was, but for what says how it travels", "[mcp]") {
  Asking fixture;
  auto client = fixture.connect();
  const Json asked = fixture.asks(1, 10), state = client->ask(asked)["result"]["requestState"];
  for (const auto& [place, value] : std::map<std::string, Json>{{"/params/arguments/bytes", 11},
                                                                {"/params/name", "echo"},
                                                                {"/params/another", 1},
                                                                {"/params/_meta/org.warder~1workspace", "b"}}) {
    Json other = fixture.asks(2, 10, state);
    other[Json::json_pointer(place)] = value;
    INFO(place);
    CHECK(client->ask(other)["error"]["code"] == -32602);
  }
  Json again = fixture.asks(3, 10, state);
  again["params"]["_meta"]["progressToken"] = "p";
  again["params"]["_meta"]["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  again["params"]["inputResponses"] = Json::object();
  CHECK(client->ask(again)["result"]["resultType"] == "input_required");
}

TEST_CASE("a connection has so many questions open", "[mcp]") {
  mcp::Elicitations questions;
  std::vector<std::shared_ptr<mcp::Elicitation>> asked;
  for (size_t i = 0; i < mcp::Elicitations::kMost; i++) {
    asked.push_back(std::make_shared<mcp::Elicitation>());
    CHECK(questions.add(asked.back()));
  }
  auto more = std::make_shared<mcp::Elicitation>();
  CHECK_FALSE(questions.add(more));
  asked.pop_back();  // whoever asked has gone
  const auto key = questions.add(more);
  REQUIRE(key);
  CHECK(questions.take(*key) == more);
  CHECK(questions.take(*key) == nullptr);
}
