// Conversations without a socket: messages in, and a sink that collects.
#include "supervisor/protocol/mcp/conversation.h"

#include "supervisor/protocol/mcp/parked_calls.h"
#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

struct CollectingSink : mcp::Sink {
  struct Sent {
    std::optional<std::string> id;  // of the request that the line answers, or is about
    Json line;
    std::optional<mcp::ErrorCode> error;
    Delivery delivery = Delivery::always;
  };
  std::vector<Sent> answers, reported;
  bool is_full = false;
  size_t settings_changes = 0, calls_changes = 0;

  static std::optional<std::string> text_of(const mcp::RequestId* id) {
    return id ? std::optional(id->wire) : std::nullopt;
  }
  void answer(const mcp::RequestId* id, std::string line, std::optional<mcp::ErrorCode> error) override {
    answers.push_back({text_of(id), Json::parse(line), error});
  }
  void notify(const mcp::RequestId* about, std::string line, Delivery delivery) override {
    reported.push_back({text_of(about), Json::parse(line), {}, delivery});
  }
  bool full() const override { return is_full; }
  bool is_over_limit() const override { return false; }
  void wait_for_room(const std::shared_ptr<Event>&) override {}
  void settings_changed() override { settings_changes++; }
  void calls_changed() override { calls_changes++; }
};

// A client of its own: its conversation, with the sink that collects for it.
struct Talk {
  CollectingSink sink;
  std::optional<mcp::Conversation> conversation;
  Talk(Fixture& f, mcp::Conversation::Client client = {}, mcp::ConversationLimits limits = {}) {
    conversation.emplace(f.loop, f.server, static_cast<mcp::Sink&>(sink), std::move(client), limits);
  }
  void say(const Json& message) {
    const std::string text = message.dump();
    conversation->receive(text, {mcp::parse_line(text), {}});
  }
  void shake_hands(const std::string& version = "2025-11-25", const Json& capabilities = Json::object()) {
    say(request("hello", "initialize", {{"protocolVersion", version}, {"capabilities", capabilities}}));
    REQUIRE(sink.answers.back().line["result"]["protocolVersion"] == version);
    sink.answers.clear();
  }
};

const Json kForms = {{"elicitation", Json::object()}};

// The tool `ask` asks a question and answers with the person's decision; the tool `ask_and_go_on` answers when
// decided().
struct AskingTools : Fixture {
  std::shared_ptr<Event> decided = std::make_shared<Event>();
  size_t handlers = 0;

  struct Counted {
    size_t& count;
    explicit Counted(size_t& of) : count(of) { count++; }
    ~Counted() { count--; }
  };
  AskingTools() {
    mcp::ToolDefinition ask, go_on;
    ask.name = "ask";
    go_on.name = "ask_and_go_on";
    ask.description = go_on.description = "For tests.";
    server.add_tool(std::move(ask), [this](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
      const Counted counted(handlers);
      std::string decision = "nobody was asked";
      auto answered = std::make_shared<Event>();
      auto on_answer = [&decision, answered](mcp::Elicited message) {
        decision = message.action == mcp::Elicited::Action::accept ? "accepted" : "not accepted";
        answered->fire();
      };
      mcp::ElicitationForm form;
      form.message = "go on?";
      const auto question = context.elicit(std::move(form), std::move(on_answer));
      if (question) co_await *answered;
      context.progress(2);
      co_return mcp::ToolResult::text(decision);
    });
    server.add_tool(std::move(go_on), [this](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
      const Counted counted(handlers);
      mcp::ElicitationForm form;
      form.message = "go on?";
      const auto question = context.elicit(std::move(form), [](mcp::Elicited) {});
      co_await *decided;
      co_return mcp::ToolResult::text("done without an answer");
    });
  }
  static Json asks(const Json& id, const std::string& tool = "ask") {
    Json params = {{"name", tool}};
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = kForms;
    return modern(id, "tools/call", std::move(params));
  }
  // The same request again, with the state and with an answer to each question of `first`.
  static Json repeats(const Json& id, const Json& first, const std::string& tool = "ask") {
    Json retry = asks(id, tool);
    retry["params"]["requestState"] = first["result"]["requestState"];
    retry["params"]["_meta"]["progressToken"] = "again";
    for (const auto& [key, question] : first["result"]["inputRequests"].items())
      retry["params"]["inputResponses"][key] = {{"action", "accept"}, {"content", Json::object()}};
    return retry;
  }
  // Sends a request and returns its answer.
  Json answer(Talk& talk, const Json& message) {
    talk.sink.answers.clear();
    talk.say(message);
    wait_until(loop, [&] { return !talk.sink.answers.empty(); });
    return talk.sink.answers.back().line;
  }
};

mcp::Conversation::Client user(uid_t uid) {
  mcp::Conversation::Client client;
  client.principal = mcp::Principal({0, uid, 0, {}});
  return client;
}

}  // namespace

TEST_CASE("an answer reaches the sink with its request's id and its error code", "[mcp]") {
  Fixture f;
  Talk talk(f);
  talk.say(modern(7, "tools/call", {{"name", "echo"}, {"arguments", {{"text", "x"}}}}));
  talk.say(modern("a", "no/such"));
  talk.say(Json::parse(R"({"jsonrpc":"2.0","method":7})"));
  wait_until(f.loop, [&] { return talk.sink.answers.size() == 3; });
  for (const auto& sent : talk.sink.answers) {
    if (sent.id == "7") {
      CHECK_FALSE(sent.error);
      CHECK(sent.line["result"]["content"][0]["text"] == "x");
    } else if (sent.id == "\"a\"") {
      CHECK(sent.error == mcp::ErrorCode::method_not_found);
    } else {
      CHECK_FALSE(sent.id);
      CHECK(sent.error == mcp::ErrorCode::invalid_request);
    }
  }
  CHECK(talk.conversation->calls() == 0);
  CHECK(talk.sink.calls_changes == 2);
}

TEST_CASE("a message names the request that it is about, and can be dropped if it is a notification", "[mcp]") {
  AskingTools f;
  Talk talk(f);
  talk.shake_hands("2025-11-25", kForms);
  Json steps = call(1, "steps");
  steps["params"]["_meta"]["progressToken"] = "p";
  talk.say(steps);
  talk.say(call(2, "ask"));
  wait_until(f.loop, [&] { return talk.sink.reported.size() == 3; });
  for (const auto& sent : talk.sink.reported) {
    const bool asks = sent.line["method"] == "elicitation/create";
    CHECK(sent.id == (asks ? "2" : "1"));
    CHECK((sent.delivery == mcp::Sink::Delivery::always) == asks);
  }
  f.server.set_tool_choice({});
  talk.shake_hands("2025-11-25", kForms);
  talk.sink.reported.clear();
  f.server.lists_changed(mcp::Changed::tools);
  REQUIRE(talk.sink.reported.size() == 1);
  CHECK_FALSE(talk.sink.reported[0].id);
  CHECK(talk.sink.reported[0].delivery == mcp::Sink::Delivery::if_room);
}

TEST_CASE("an array of requests gets one answer, with the id of one of them", "[mcp]") {
  Fixture f;
  Talk talk(f);
  talk.shake_hands("2025-03-26");
  talk.say(Json::array({request(1, "ping"), call(2, "hold"), Json::object()}));
  settle(f.loop);
  CHECK(talk.sink.answers.empty());
  f.release("");
  wait_until(f.loop, [&] { return !talk.sink.answers.empty(); });
  REQUIRE(talk.sink.answers.size() == 1);
  CHECK(talk.sink.answers[0].id == "1");
  CHECK(talk.sink.answers[0].line.size() == 3);
}

TEST_CASE("the end of a conversation cancels its calls and sends nothing", "[mcp]") {
  Fixture f;
  Talk talk(f);
  talk.shake_hands("2025-03-26");
  talk.say(call(1, "hold", {{"name", "a"}}));
  talk.say(Json::array({request(2, "ping"), call(3, "hold", {{"name", "b"}})}));
  talk.say(call(4, "hold", {{"name", "c"}}));
  settle(f.loop);
  CHECK(talk.conversation->ids_in_work() == "1,3,4");
  talk.conversation->cancel(*mcp::RequestId::from(1));
  CHECK(f.cancelled == 1);
  CHECK(talk.conversation->calls() == 2);
  talk.conversation.reset();
  CHECK(f.cancelled == 3);
  settle(f.loop);
  CHECK(talk.sink.answers.empty());
  CHECK(f.server.calls() == 0);
}

TEST_CASE("a legacy client whose sink is full is not asked", "[mcp]") {
  AskingTools f;
  Talk talk(f);
  talk.shake_hands("2025-11-25", kForms);
  talk.sink.is_full = true;
  CHECK(f.answer(talk, call(1, "ask"))["result"]["content"][0]["text"] == "nobody was asked");
  CHECK(talk.sink.reported.empty());
}

TEST_CASE("a client that was refused gets the reason once", "[mcp]") {
  Fixture f;
  mcp::Conversation::Client client;
  client.refusal = Error{Code::denied, 0, "not you", "ask the administrator", {}};
  Talk talk(f, std::move(client));
  talk.say(Json::parse(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
  CHECK_FALSE(talk.conversation->is_over());
  talk.say(request(1, "ping"));
  REQUIRE(talk.sink.answers.size() == 1);
  CHECK(talk.sink.answers[0].line["error"]["message"] == "not you");
  CHECK(talk.conversation->is_over());
}

TEST_CASE("another conversation continues with the settings of a legacy client", "[mcp]") {
  Fixture f;
  f.server.set_tool_choice({});
  Talk first(f), second(f);
  CHECK(first.conversation->settings().is_null());
  first.say(request(1, "initialize", {{"protocolVersion", "2025-06-18"}, {"capabilities", kForms}}));
  first.say(request(2, "logging/setLevel", {{"level", "error"}}));
  CHECK(first.sink.settings_changes == 2);
  const Json settings = first.conversation->settings();
  CHECK(settings["version"] == "2025-06-18");
  CHECK(settings["log_level"] == "error");
  second.conversation->restore(settings);
  CHECK(second.conversation->settings() == settings);
  CHECK(second.sink.settings_changes == 1);
  second.say(call(1, "echo", {{"text", "x"}}));
  wait_until(f.loop, [&] { return !second.sink.answers.empty(); });
  CHECK(second.sink.answers[0].line.contains("result"));
  f.server.lists_changed(mcp::Changed::tools);
  CHECK(second.sink.reported.size() == 1);
  Talk third(f);
  third.conversation->restore(nullptr);
  third.conversation->restore({{"version", "1999-01-01"}});
  CHECK(third.conversation->settings().is_null());
}

TEST_CASE("conversations of one principal may use the same ids", "[mcp]") {
  Fixture f;
  Talk first(f, user(1000)), second(f, user(1000));
  for (auto [talk, name] : {std::pair(&first, "a"), std::pair(&second, "b")})
    talk->say(modern(1, "tools/call", {{"name", "hold"}, {"arguments", {{"name", name}}}}));
  settle(f.loop);
  f.release("b");
  wait_until(f.loop, [&] { return !second.sink.answers.empty(); });
  CHECK(second.sink.answers[0].line["result"]["content"][0]["text"] == "released b");
  CHECK(first.sink.answers.empty());
}

TEST_CASE("a parked call outlives its conversation, and goes on in another one of its principal", "[mcp]") {
  AskingTools f;
  auto posted = std::make_unique<Talk>(f, user(1000));
  const Json first = f.answer(*posted, f.asks(1));
  REQUIRE(first["result"]["resultType"] == "input_required");
  posted.reset();
  settle(f.loop);
  CHECK(f.handlers == 1);
  CHECK(f.server.calls() == 1);

  Talk stranger(f, user(1001));
  CHECK(f.answer(stranger, f.repeats(1, first))["error"]["code"] == -32602);

  Talk next(f, user(1000));
  Json changed = f.repeats(1, first);
  changed["params"]["arguments"] = {{"another", 1}};
  CHECK(f.answer(next, changed)["error"]["code"] == -32602);
  const Json done = f.answer(next, f.repeats(5, first));
  CHECK(done["id"] == 5);
  CHECK(done["result"]["content"][0]["text"] == "accepted");
  REQUIRE(next.sink.reported.size() == 1);
  CHECK(next.sink.reported[0].id == "5");
  CHECK(next.sink.reported[0].line["params"]["progressToken"] == "again");
  settle(f.loop);
  CHECK(f.handlers == 0);
  CHECK(f.answer(next, f.repeats(6, first))["error"]["code"] == -32602);
}

TEST_CASE("an answer that was made after the conversation is given to the next one", "[mcp]") {
  AskingTools f;
  auto posted = std::make_unique<Talk>(f, user(1000));
  const Json first = f.answer(*posted, f.asks(1, "ask_and_go_on"));
  posted.reset();
  f.decided->fire();
  settle(f.loop);
  CHECK(f.handlers == 0);
  CHECK(f.server.calls() == 0);
  Talk next(f, user(1000));
  CHECK(f.answer(next, f.repeats(2, first, "ask_and_go_on"))["result"]["content"][0]["text"] ==
        "done without an answer");
}

TEST_CASE("a parked call goes on in another conversation beside its own one, and waits some time after its end",
          "[mcp]") {
  AskingTools f;
  std::optional<Talk> first(std::in_place, f, user(1000));
  Talk second(f, user(1000));
  const Json of_first = f.answer(*first, f.asks(1)), another = f.answer(*first, f.asks(2));
  CHECK(f.answer(second, f.repeats(2, of_first))["result"]["content"][0]["text"] == "accepted");
  CHECK(f.answer(*first, f.repeats(3, of_first))["error"]["code"] == -32602);
  first->conversation->end_input();
  CHECK(f.answer(*first, f.asks(6))["result"]["content"][0]["text"] == "nobody was asked");
  CHECK(f.answer(second, f.repeats(5, another))["result"]["content"][0]["text"] == "accepted");

  mcp::ConversationLimits limits;
  limits.parked = std::chrono::milliseconds(20);
  first.emplace(f, user(1000), limits);
  const Json remaining = f.answer(*first, f.asks(1));
  CHECK(f.handlers == 1);
  first.reset();
  CHECK(f.handlers == 1);
  wait_until(f.loop, [&] { return f.handlers == 0; });
  CHECK(f.answer(second, f.repeats(7, remaining))["error"]["code"] == -32602);
}
