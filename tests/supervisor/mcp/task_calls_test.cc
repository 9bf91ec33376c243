// Tasks on the wire: both forms, with clients that do not declare them, foreign ids, and cancelled calls.
#include "supervisor/mcp/task_calls.h"

#include "tests/supervisor/mcp/harness.h"

using namespace mcp_test;

namespace {

// The tool `work` waits for the test, asks a question if it is told to, and answers with so many bytes.
struct TaskFixture : Fixture {
  tasks::MemoryTaskDisk disk;
  tasks::TaskStore store{loop, disk};
  std::vector<std::shared_ptr<Event>> waiting;
  std::shared_ptr<int> handlers = std::make_shared<int>();  // as many copies as handlers run

  TaskFixture() {
    mcp::ToolDefinition tool;
    tool.name = "work";
    tool.description = "For tests.";
    tool.tasks = mcp::ToolDefinition::Tasks::optional;
    tool.input_schema = {{"type", "object"},
                         {"properties", {{"bytes", {{"type", "integer"}}}, {"ask", {{"type", "boolean"}}}}}};
    server.add_tool(tool, [this](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
      const auto running = handlers;
      const auto decided = waiting.emplace_back(std::make_shared<Event>());
      co_await *decided;
      Event answered;
      std::shared_ptr<mcp::Elicitation> question;
      if (arguments.value("ask", false)) {
        question = context.elicit({"go on?"}, [&answered](mcp::Elicited) { answered.fire(); });
        if (question) co_await answered;
      }
      co_return mcp::ToolResult::text(std::string(arguments.value("bytes", 10), 'x'));
    });
    tool.name = "detach";
    server.add_tool(tool, [this](mcp::RequestContext& context, Json) -> Task<mcp::ToolResult> {
      const auto running = handlers;
      auto detached = context.detach(mcp::ToolResult::text("later"));
      if (!detached) co_return mcp::ToolResult::error(detached.error());
      const auto decided = waiting.emplace_back(std::make_shared<Event>());
      co_await *decided;
      co_return mcp::ToolResult::text("dropped");
    });
    tool.name = "only_task";
    tool.tasks = mcp::ToolDefinition::Tasks::required;
    server.add_tool(
        tool, [](mcp::RequestContext&, Json) -> Task<mcp::ToolResult> { co_return mcp::ToolResult::text("done"); });
    mcp::TaskRules rules;
    rules.promote_after = std::chrono::milliseconds(1);
    server.set_tasks(store, rules);
  }
  ~TaskFixture() { server.task_calls()->cancel_of({}); }

  Json with_tasks(const Json& id, const std::string& method, Json params) const {
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {
        {"elicitation", Json::object()}, {"extensions", {{mcp::kTasksExtension, Json::object()}}}};
    return modern(id, method, params);
  }
  Json call(const Json& id, Json arguments = Json::object()) const {
    return with_tasks(id, "tools/call", {{"name", "work"}, {"arguments", std::move(arguments)}});
  }
  Json details(Client& client, const std::string& id) const {
    return client.ask(with_tasks(99, "tasks/get", {{"taskId", id}}));
  }
  void go_on() {
    for (const auto& one : std::exchange(waiting, {})) one->fire();
    settle(loop);
  }
  int running() const { return static_cast<int>(handlers.use_count()) - 1; }
};

}  // namespace

TEST_CASE("a call that takes long becomes a task, and its result is at tasks/get", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const Json created = client->ask(fixture.call(1))["result"];
  CHECK(created["resultType"] == "task");
  CHECK(created["status"] == "working");
  CHECK_FALSE(created.contains("result"));
  const std::string id = created["taskId"];
  CHECK(fixture.details(*client, id)["result"]["status"] == "working");
  fixture.go_on();
  const Json ended = fixture.details(*client, id)["result"];
  CHECK(ended["resultType"] == "complete");
  CHECK(ended["status"] == "completed");
  CHECK(ended["result"]["content"][0]["text"] == "xxxxxxxxxx");
  CHECK(fixture.running() == 0);
}

TEST_CASE("a call of a client that does not declare tasks stays a call", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  client->send(modern(1, "tools/call", {{"name", "work"}}));
  wait_until(fixture.loop, [&] { return !fixture.waiting.empty(); });
  settle(fixture.loop);
  CHECK(client->silent());
  fixture.go_on();
  CHECK(client->message()["result"]["content"][0]["text"] == "xxxxxxxxxx");
  for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"})
    CHECK(client->ask(modern(2, method, {{"taskId", "t1"}}))["error"]["code"] == -32021);
  CHECK(client->ask(modern(3, "tools/call", {{"name", "only_task"}}))["error"]["code"] == -32021);
}

TEST_CASE("a task goes on when its client leaves, and another connection of the principal finds it", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const std::string id = client->ask(fixture.call(1))["result"]["taskId"];
  client->close();
  settle(fixture.loop);
  CHECK(fixture.running() == 1);
  auto later = fixture.connect();
  CHECK(fixture.details(*later, id)["result"]["status"] == "working");
  fixture.go_on();
  CHECK(fixture.details(*later, id)["result"]["status"] == "completed");
}

TEST_CASE("unknown ids and background ids are not known, in every method", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  for (const char* id : {"", "t", "t00000000000000000000000000000000", "../t", "e1"})
    for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
      CAPTURE(id, method);
      const Json answer =
          client->ask(fixture.with_tasks(1, method, {{"taskId", id}, {"inputResponses", Json::object()}}));
      CHECK(answer["error"]["code"] == -32602);
    }
  CHECK(client->ask(fixture.with_tasks(1, "tasks/get", {{"taskId", 7}}))["error"]["code"] == -32602);
  for (const char* method : {"tasks/list", "tasks/result"})
    CHECK(client->ask(fixture.with_tasks(1, method, {{"taskId", "t1"}}))["error"]["code"] == -32601);
}

TEST_CASE("a cancelled task ends its handler, and may be cancelled again", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const std::string id = client->ask(fixture.call(1))["result"]["taskId"];
  for (int time = 0; time < 2; time++) {
    const Json ack = client->ask(fixture.with_tasks(2, "tasks/cancel", {{"taskId", id}}))["result"];
    CHECK(ack["resultType"] == "complete");
    CHECK_FALSE(ack.contains("status"));
    CHECK(fixture.details(*client, id)["result"]["status"] == "cancelled");
  }
  CHECK(fixture.running() == 0);
}

TEST_CASE("a task asks its client by tasks/get, and goes on after tasks/update", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const std::string id = client->ask(fixture.call(1, {{"ask", true}}))["result"]["taskId"];
  fixture.go_on();
  const Json asking = fixture.details(*client, id)["result"];
  CHECK(asking["status"] == "input_required");
  REQUIRE(asking["inputRequests"].size() == 1);
  const std::string key = asking["inputRequests"].begin().key();
  const auto update = [&](const Json& responses) {
    return client->ask(fixture.with_tasks(2, "tasks/update", {{"taskId", id}, {"inputResponses", responses}}));
  };
  for (const Json& wrong :
       {Json{{"another", {{"action", "accept"}}}}, Json{{key, 7}}, Json{{key, {{"action", "no"}}}}}) {
    CHECK(update(wrong)["result"]["resultType"] == "complete");
    CHECK(fixture.details(*client, id)["result"]["status"] == "input_required");
  }
  CHECK(update({{key, {{"action", "accept"}, {"content", Json::object()}}}})["result"]["resultType"] == "complete");
  settle(fixture.loop);
  CHECK(fixture.details(*client, id)["result"]["status"] == "completed");
}

TEST_CASE("a result that is too large is kept shortened, and says so", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const std::string id = client->ask(fixture.call(1, {{"bytes", 3 << 20}}))["result"]["taskId"];
  fixture.go_on();
  const Json result = fixture.details(*client, id)["result"]["result"];
  const std::string note = result["content"][0]["text"];
  CHECK(note.find("more than a task keeps") != note.npos);
  CHECK(result["content"][1]["text"].get<std::string>().size() == (1 << 16));
}

TEST_CASE("a detached call is answered at once, and ends with cancel_of", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const Json answer = client->ask(modern(1, "tools/call", {{"name", "detach"}}));
  CHECK(answer["result"]["content"][0]["text"] == "later");
  client->close();
  settle(fixture.loop);
  CHECK(fixture.running() == 1);
  fixture.server.task_calls()->cancel_of([](const auto&) { return true; });
  CHECK(fixture.running() == 0);
}

TEST_CASE("the result of an interrupted task names its task, for clients of each era", "[mcp][tasks]") {
  const Json result = Json::parse("{" + mcp::interrupted_result("t1", R"({"name":"test"})") + "}");
  CHECK(result["isError"] == true);
  CHECK(result["resultType"] == "complete");
  CHECK(result["_meta"]["io.modelcontextprotocol/related-task"] == Json{{"taskId", "t1"}});
  CHECK(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "test");
}

TEST_CASE("2025-11-25: a client asks for a task, and waits for its result", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const Json begun = client->ask({{"jsonrpc", "2.0"},
                                  {"id", 0},
                                  {"method", "initialize"},
                                  {"params",
                                   {{"protocolVersion", "2025-11-25"},
                                    {"capabilities", Json::object()},
                                    {"clientInfo", {{"name", "test"}, {"version", "1"}}}}}});
  CHECK(begun["result"]["capabilities"]["tasks"]["requests"]["tools"]["call"] == Json::object());
  int next = 1;
  const auto legacy = [&](const char* method, const Json& params) {
    return Json{{"jsonrpc", "2.0"}, {"id", next++}, {"method", method}, {"params", params}};
  };
  const Json created = client->ask(legacy("tools/call", {{"name", "work"}, {"task", {{"ttl", 0}}}}))["result"]["task"];
  CHECK(created["status"] == "working");
  CHECK(created["ttl"] == 60'000);
  const std::string id = created["taskId"];
  CHECK(client->ask(legacy("tasks/list", Json::object()))["result"]["tasks"][0]["taskId"] == id);
  CHECK(client->ask(legacy("tasks/get", {{"taskId", id}}))["result"]["status"] == "working");
  client->send(legacy("tasks/result", {{"taskId", id}}));
  client->send(legacy("tasks/result", {{"taskId", id}}));  // two at once
  settle(fixture.loop);
  CHECK(client->silent());
  fixture.go_on();
  for (int n = 0; n < 2; n++) {
    const Json result = client->message()["result"];
    CHECK(result["content"][0]["text"] == "xxxxxxxxxx");
    CHECK(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"] == id);
  }
  CHECK(client->ask(legacy("tasks/cancel", {{"taskId", id}}))["error"]["code"] == -32602);
  CHECK(client->ask(legacy("tools/call", {{"name", "work"}, {"task", 7}}))["error"]["code"] == -32602);
  for (const Json& ttl : {Json("long"), Json(-1), Json(-0.5), Json(true), Json::array()}) {
    CAPTURE(ttl);
    const Json error = client->ask(legacy("tools/call", {{"name", "work"}, {"task", {{"ttl", ttl}}}}))["error"];
    CHECK(error["code"] == -32602);
    CHECK(error["message"] == "Invalid params: task.ttl must be a number of milliseconds, 0 or more");
  }
  CHECK(client->ask(legacy("tools/call", {{"name", "only_task"}}))["error"]["code"] == -32601);
  CHECK(client->ask(legacy("tasks/update", {{"taskId", id}}))["error"]["code"] == -32601);
}
