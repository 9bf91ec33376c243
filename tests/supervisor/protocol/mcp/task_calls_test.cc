// Tasks on the wire: both forms, with clients that do not declare them, foreign ids, and cancelled calls.
#include "supervisor/protocol/mcp/task_calls.h"

#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;

namespace {

// The tool `work` waits for the test, asks a question if it is told to, and answers with so many bytes, or with an
// error. It reports progress before and after it waits.
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
    tool.input_schema = {
        {"type", "object"},
        {"properties",
         {{"bytes", {{"type", "integer"}}}, {"ask", {{"type", "boolean"}}}, {"fail", {{"type", "boolean"}}}}}};
    server.add_tool(tool, [this](mcp::RequestContext& context, Json arguments) -> Task<mcp::ToolResult> {
      const auto running = handlers;
      const auto decided = waiting.emplace_back(std::make_shared<Event>());
      context.progress(1);
      co_await *decided;
      context.progress(2);
      Event answered;
      std::shared_ptr<mcp::Elicitation> question;
      if (arguments.value("ask", false)) {
        question = context.elicit({"go on?"}, [&answered](mcp::Elicited) { answered.fire(); });
        if (question) co_await answered;
      }
      const std::string text(arguments.value("bytes", 10), 'x');
      co_return arguments.value("fail", false) ? mcp::ToolResult::error(text) : mcp::ToolResult::text(text);
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
    for (const auto& item : std::exchange(waiting, {})) item->fire();
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
  const Json started = client->ask({{"jsonrpc", "2.0"},
                                    {"id", 0},
                                    {"method", "initialize"},
                                    {"params",
                                     {{"protocolVersion", "2025-11-25"},
                                      {"capabilities", Json::object()},
                                      {"clientInfo", {{"name", "test"}, {"version", "1"}}}}}});
  CHECK(started["result"]["capabilities"]["tasks"]["requests"]["tools"]["call"] == Json::object());
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
  CHECK(client->message()["method"] == "notifications/tasks/status");
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

namespace {

const Json kEmpty = Json::object();

// A client of 2025-11-25 that can be asked.
struct LegacyTasks : TaskFixture {
  int next = 1;
  std::unique_ptr<Client> client = legacy_client();

  std::unique_ptr<Client> legacy_client() {
    auto created = connect();
    created->ask(
        request(0, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", {{"elicitation", kEmpty}}}}));
    return created;
  }
  Json requested(const char* method, const std::string& id) { return request(next++, method, {{"taskId", id}}); }
  std::string begin(Json arguments) {
    const Json params = {{"name", "work"}, {"arguments", std::move(arguments)}, {"task", kEmpty}};
    return client->ask(request(next++, "tools/call", params))["result"]["task"]["taskId"];
  }
  static Json accept(const Json& question) {
    return {{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"action", "accept"}, {"content", kEmpty}}}};
  }
};

const Json kExtension = {{"extensions", {{mcp::kTasksExtension, kEmpty}}}};

Json listen_to(const Json& id, const Json& tasks, const Json& capabilities = kExtension) {
  return modern(id, "subscriptions/listen",
                {{"notifications", {{"taskIds", tasks}}},
                 {"_meta", {{"io.modelcontextprotocol/clientCapabilities", capabilities}}}});
}

}  // namespace

TEST_CASE("2025-11-25: the client of a task is notified of its states, and no other client is", "[mcp][tasks]") {
  LegacyTasks fixture;
  auto other = fixture.legacy_client();
  const std::string id = fixture.begin({{"ask", true}});
  fixture.go_on();
  Json report = fixture.client->message();
  CHECK(report["method"] == "notifications/tasks/status");
  CHECK(report["params"]["taskId"] == id);
  CHECK(report["params"]["status"] == "input_required");
  CHECK(report["params"].contains("ttl"));
  CHECK(report["params"].contains("createdAt"));
  CHECK_FALSE(report["params"].contains("_meta"));
  fixture.client->send(fixture.requested("tasks/cancel", id));
  report = fixture.client->message();
  CHECK(report["params"]["status"] == "cancelled");
  CHECK(fixture.client->message()["result"]["status"] == "cancelled");
  CHECK(fixture.client->silent());
  CHECK(other->silent());
}

TEST_CASE("2026-07-28: a subscription reports the states of the client's own tasks, with their results",
          "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect(), listener = fixture.connect();
  const std::string id = client->ask(fixture.call(1, {{"ask", true}}))["result"]["taskId"];
  mcp::Connection::Accepted stranger;
  stranger.principal = mcp::Principal::of_token("another");
  auto foreign = fixture.connect(std::move(stranger));
  foreign->send(listen_to("f", {id}));
  CHECK(foreign->message()["params"]["notifications"] == kEmpty);
  listener->send(listen_to("s", {id, "t0", id}));
  CHECK(listener->message()["params"]["notifications"] == Json{{"taskIds", {id}}});
  CHECK(listener->silent());
  fixture.go_on();
  Json report = listener->message();
  CHECK(report["method"] == "notifications/tasks");
  CHECK(report["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s");
  CHECK(report["params"]["status"] == "input_required");
  const Json questions = report["params"]["inputRequests"];
  REQUIRE(questions.size() == 1);
  const Json responses = {{questions.begin().key(), {{"action", "accept"}, {"content", kEmpty}}}};
  client->ask(fixture.with_tasks(2, "tasks/update", {{"taskId", id}, {"inputResponses", responses}}));
  do report = listener->message();
  while (report["params"]["status"] == "working");
  CHECK(report["params"]["status"] == "completed");
  CHECK(report["params"]["result"]["content"][0]["text"] == "xxxxxxxxxx");
  report["params"].erase("_meta");
  Json details = fixture.details(*client, id)["result"];
  details.erase("_meta"), details.erase("resultType");
  CHECK(report["params"] == details);
  CHECK(listener->silent());
  CHECK(foreign->silent());

  listener->send(listen_to("late", {id}));  // the task ended before
  CHECK(listener->message()["params"]["notifications"] == Json{{"taskIds", {id}}});
  report = listener->message();
  CHECK(report["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "late");
  CHECK(report["params"]["status"] == "completed");
  fixture.server.drain();
  CHECK(listener->message()["result"]["resultType"] == "complete");
}

TEST_CASE("2026-07-28: a subscription to tasks needs the extension, and ids", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  const Json error = client->ask(listen_to(1, {"t1"}, kEmpty))["error"];
  CHECK(error["code"] == -32021);
  CHECK(error["data"]["requiredCapabilities"] == kExtension);
  for (const Json& wrong : {Json("t1"), Json(7), Json{7}, Json{{"a", 1}}}) {
    CAPTURE(wrong);
    CHECK(client->ask(listen_to(1, wrong))["error"]["code"] == -32602);
  }
  Json many = Json::array();
  for (int n = 0; n < 257; n++) many.push_back("t" + std::to_string(n));
  CHECK(client->ask(listen_to(1, many))["error"]["message"] ==
        "Invalid params: more than 256 tasks in one subscription");
  client->send(listen_to("s", Json::array(), kEmpty));
  CHECK(client->message()["method"] == "notifications/subscriptions/acknowledged");
}

TEST_CASE("2025-11-25: a task asks its client on the stream of tasks/result, once", "[mcp][tasks]") {
  LegacyTasks fixture;
  Client& client = *fixture.client;
  const std::string id = fixture.begin({{"ask", true}});
  client.send(fixture.requested("tasks/result", id));
  client.send(fixture.requested("tasks/result", id));  // two at once
  fixture.go_on();
  CHECK(client.message()["params"]["status"] == "input_required");
  const Json question = client.message();
  CHECK(question["method"] == "elicitation/create");
  CHECK(question["params"]["message"] == "go on?");
  CHECK(question["params"]["_meta"]["io.modelcontextprotocol/related-task"] == Json{{"taskId", id}});
  CHECK(client.silent());
  client.send(fixture.accept(question));
  CHECK(client.message()["params"]["status"] == "working");
  CHECK(client.message()["params"]["status"] == "completed");
  for (int n = 0; n < 2; n++) CHECK(client.message()["result"]["content"][0]["text"] == "xxxxxxxxxx");
  CHECK(client.silent());
}

TEST_CASE("2025-11-25: a question that its client does not answer goes to the next tasks/result", "[mcp][tasks]") {
  LegacyTasks fixture;
  const std::string id = fixture.begin({{"ask", true}});
  fixture.go_on();
  fixture.client->message();        // input_required
  CHECK(fixture.client->silent());  // not before it asks for the result
  auto leaving = fixture.legacy_client(), waiting = fixture.legacy_client(), half = fixture.legacy_client();
  SECTION("it cancels its request") {
    const Json request = fixture.requested("tasks/result", id);
    leaving->send(request);
    const Json question = leaving->message();
    CHECK(question["method"] == "elicitation/create");
    leaving->send(cancel(request["id"]));
    const Json withdrawn = leaving->message();
    CHECK(withdrawn["method"] == "notifications/cancelled");
    CHECK(withdrawn["params"]["requestId"] == question["id"]);
    leaving->send(fixture.accept(question));  // too late
  }
  SECTION("it hangs up") {
    leaving->send(fixture.requested("tasks/result", id));
    CHECK(leaving->message()["method"] == "elicitation/create");
    waiting->send(fixture.requested("tasks/result", id));
    CHECK(waiting->silent());
    leaving->close();
    CHECK(waiting->message()["method"] == "elicitation/create");
    waiting->close();
  }
  SECTION("it sends nothing more, and still reads") {
    half->send(fixture.requested("tasks/result", id));
    CHECK(half->message()["method"] == "elicitation/create");
    half->half_close();
  }
  settle(fixture.loop);
  CHECK(fixture.client->ask(fixture.requested("tasks/get", id))["result"]["status"] == "input_required");
  fixture.client->send(fixture.requested("tasks/result", id));
  const Json question = fixture.client->message();
  CHECK(question["method"] == "elicitation/create");
  fixture.client->send(fixture.accept(question));
  CHECK(fixture.client->message()["params"]["status"] == "working");
  CHECK(fixture.client->message()["params"]["status"] == "completed");
  CHECK(fixture.client->message()["result"]["content"][0]["text"] == "xxxxxxxxxx");
}

TEST_CASE("2025-11-25: the end of a task takes its question back", "[mcp][tasks]") {
  LegacyTasks fixture;
  const std::string id = fixture.begin({{"ask", true}});
  fixture.client->send(fixture.requested("tasks/result", id));
  fixture.go_on();
  fixture.client->message();  // input_required
  const Json question = fixture.client->message();
  CHECK(question["method"] == "elicitation/create");
  auto other = fixture.legacy_client();
  CHECK(other->ask(fixture.requested("tasks/cancel", id))["result"]["status"] == "cancelled");
  CHECK(fixture.client->message()["params"]["status"] == "cancelled");
  const Json withdrawn = fixture.client->message();
  CHECK(withdrawn["method"] == "notifications/cancelled");
  CHECK(withdrawn["params"]["requestId"] == question["id"]);
  CHECK(fixture.client->message()["error"]["code"] == -32600);
}

TEST_CASE("a tool's error is the state `failed` in 2025-11-25, and a result in 2026-07-28", "[mcp][tasks]") {
  LegacyTasks fixture;
  const std::string id = fixture.begin({{"fail", true}});
  fixture.go_on();
  CHECK(fixture.client->message()["params"]["status"] == "failed");
  CHECK(fixture.client->ask(request(90, "tasks/list", kEmpty))["result"]["tasks"][0]["status"] == "failed");
  const Json result = fixture.client->ask(fixture.requested("tasks/result", id))["result"];
  CHECK(result["isError"] == true);
  CHECK(fixture.client->ask(fixture.requested("tasks/cancel", id))["error"]["message"] == "the task is failed already");
  auto modern_client = fixture.connect();
  const Json seen = fixture.details(*modern_client, id)["result"];
  CHECK(seen["status"] == "completed");
  CHECK(seen["result"]["isError"] == true);

  fixture.begin(kEmpty);
  fixture.go_on();
  CHECK(fixture.client->message()["params"]["status"] == "completed");
}

TEST_CASE("2025-11-25: the progress of a task goes to its client until the task ends", "[mcp][tasks]") {
  LegacyTasks fixture;
  auto other = fixture.legacy_client();
  const Json call = {{"name", "work"}, {"task", kEmpty}, {"_meta", {{"progressToken", "p"}}}};
  const std::string id = fixture.client->ask(request(1, "tools/call", call))["result"]["task"]["taskId"];
  for (const int step : {1, 2}) {
    if (step == 2) fixture.go_on();
    const Json report = fixture.client->message();
    CHECK(report["method"] == "notifications/progress");
    CHECK(report["params"]["progressToken"] == "p");
    CHECK(report["params"]["progress"] == step);
    CHECK(report["params"]["_meta"] == Json{{"io.modelcontextprotocol/related-task", {{"taskId", id}}}});
  }
  CHECK(fixture.client->message()["params"]["status"] == "completed");
  CHECK(fixture.client->silent());
  CHECK(other->silent());

  const std::string remaining = fixture.client->ask(request(2, "tools/call", call))["result"]["task"]["taskId"];
  CHECK(fixture.client->message()["params"]["progress"] == 1);
  fixture.client->close();
  settle(fixture.loop);
  fixture.go_on();  // its progress has no client
  CHECK(other->ask(fixture.requested("tasks/get", remaining))["result"]["status"] == "completed");
}

TEST_CASE("2026-07-28: a task tells no progress", "[mcp][tasks]") {
  TaskFixture fixture;
  auto client = fixture.connect();
  Json call = fixture.call(1);
  call["params"]["_meta"]["progressToken"] = "p";
  client->send(call);
  CHECK(client->message()["params"]["progress"] == 1);  // it is not a task yet
  const std::string id = client->message()["result"]["taskId"];
  fixture.go_on();
  CHECK(client->silent());
  CHECK(fixture.details(*client, id)["result"]["status"] == "completed");
}
