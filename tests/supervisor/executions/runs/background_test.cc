// Executions in the background, as a task in the store: its beginning, its end, and what its result is meanwhile.
#include "supervisor/executions/runs/background.h"

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/context.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/supervisor/executions/runs/scene.h"

using Catch::Matchers::Contains;
using tasks::TaskState;

namespace {

const std::string kBackground = "e0123456789abcdef";

struct BackgroundScene {
  Loop loop;
  tasks::MemoryTaskDisk disk;
  tasks::TaskStore store{loop, disk};
  executions::ExecutionRegistry registry{loop};
  bool is_closing = false;
  int ended = 0;  // calls of BackgroundTask's `ended`
  std::optional<runs::BackgroundTask> task;

  BackgroundScene() {
    task.emplace(
        store, [this] { return is_closing; }, [this] { ended++; }, kBackground);
  }
  ~BackgroundScene() { task.reset(); }
  void begin() { REQUIRE(await(loop, task->restart(mcp::Principal::of_token("ci"), "acme"))); }
  Result<std::string> read(const std::string& id = kBackground, const std::string& tenant = "acme") {
    return await(loop, runs::read_result(store, tenant, id));
  }
  Json stored() {
    const auto text = read();
    REQUIRE(text);
    return Json::parse(*text);
  }
  const tasks::StoredTask* found() { return store.find_of_tenant(kBackground, "acme"); }
};

mcp::ToolResult answer_with(const std::string& text) { return mcp::ToolResult::text(text); }

}  // namespace

TEST_CASE("an announced execution works until it begins, and an unknown one is not found", "[background]") {
  BackgroundScene scene;
  const auto unknown = scene.read();
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::not_found);
  CHECK_THAT(unknown.error().hint, Contains("the oldest are removed"));
  scene.store.expect(kBackground);
  CHECK(scene.stored() == Json{{"execution_id", kBackground}, {"state", "working"}});
  scene.store.give_up(kBackground);
  CHECK(scene.read().error().code == Code::not_found);
}

TEST_CASE("the task of a background execution belongs to its tenant and client, and works", "[background]") {
  BackgroundScene scene;
  scene.begin();
  REQUIRE(scene.found());
  CHECK(scene.found()->kind == tasks::TaskKind::background);
  CHECK(scene.found()->owner == tasks::TaskOwner{"acme", "token:ci"});
  CHECK(scene.stored()["state"] == "working");
  CHECK(scene.read(kBackground, "other").error().code == Code::not_found);
  CHECK(scene.ended == 0);
}

TEST_CASE("the answer of a background execution is its result, and the task is completed", "[background]") {
  BackgroundScene scene;
  scene.begin();
  scene.task->end(answer_with(R"({"success":true,"result":5})"), "ok");
  CHECK(scene.ended == 1);
  CHECK(scene.found()->state == TaskState::completed);
  CHECK(scene.stored() == Json{{"success", true}, {"result", 5}});
  scene.task.reset();  // a second end has no effect
  CHECK(scene.ended == 1);
  CHECK(scene.found()->state == TaskState::completed);
}

TEST_CASE("an execution with the outcome cancelled is a cancelled task with its answer", "[background]") {
  BackgroundScene scene;
  scene.begin();
  scene.task->end(answer_with(R"({"success":false,"outcome":"cancelled"})"), "cancelled");
  CHECK(scene.found()->state == TaskState::cancelled);
  CHECK(scene.stored()["outcome"] == "cancelled");
}

TEST_CASE("a task that is destroyed before its end is cancelled, but not by the end of the daemon", "[background]") {
  BackgroundScene scene;
  scene.begin();
  SECTION("its call was cancelled") {
    scene.task.reset();
    CHECK(scene.ended == 1);
    CHECK(scene.found()->state == TaskState::cancelled);
    Json stored = scene.stored();
    CHECK(stored["error"] == "the execution was cancelled");
    CHECK(stored["may_have_run"] == true);
    CHECK(stored["execution_id"] == kBackground);
  }
  SECTION("the daemon ends") {
    scene.is_closing = true;
    scene.task.reset();
    CHECK(scene.ended == 0);
    CHECK(scene.found()->state == TaskState::working);
  }
}

TEST_CASE("a task that never began leaves no entry", "[background]") {
  BackgroundScene scene;
  scene.task->end(answer_with("{}"), "ok");
  scene.task.reset();
  CHECK(scene.ended == 0);
  CHECK_FALSE(scene.found());
}

TEST_CASE("a call that cannot go on without its client begins no task", "[background]") {
  BackgroundScene scene;
  mcp::RequestContext context(scene.loop, {}, mcp::kNewestModern, {});
  context.principal = mcp::Principal::of_token("ci");
  const auto started = await(scene.loop, scene.task->begin(context, "acme"));
  REQUIRE_FALSE(started);
  CHECK(started.error().code == Code::unavailable);
  CHECK_FALSE(scene.found());
  scene.task.reset();
  CHECK(scene.ended == 0);
}

TEST_CASE("a tenant with too many running tasks gets no further one", "[background]") {
  BackgroundScene scene;
  for (size_t i = 0; i < scene.store.limits().running_of_tenant; i++) {
    tasks::NewTask other;
    other.owner = {"acme", "token:ci"};
    REQUIRE(await(scene.loop, scene.store.begin(std::move(other))));
  }
  const auto started = await(scene.loop, scene.task->restart(mcp::Principal::of_token("ci"), "acme"));
  REQUIRE_FALSE(started);
  CHECK(started.error().code == Code::exhausted);
  CHECK_FALSE(scene.found());
}

TEST_CASE("the handle says where the result will be, with a link", "[background]") {
  const mcp::ToolResult handle = runs::background_handle(kBackground, TaskState::working);
  REQUIRE(handle.content.size() == 2);
  const std::string uri = "exec:///" + kBackground + "/result";
  CHECK(Json::parse(std::get<mcp::Text>(handle.content[0]).text) ==
        Json{{"execution_id", kBackground}, {"state", "working"}, {"result", uri}});
  CHECK(std::get<mcp::ResourceLink>(handle.content[1]).uri == uri);
  CHECK_FALSE(handle.is_error);
  const mcp::ToolResult last = runs::background_handle(kBackground, TaskState::working, tasks::kLastSlot);
  CHECK(Json::parse(std::get<mcp::Text>(last.content[0]).text)["note"] == std::string(tasks::kLastSlot));
}

TEST_CASE("of a long answer the beginning is stored, with its length", "[background]") {
  const std::string text = R"({"result":")" + std::string(1000, 'x') + "\"}";
  CHECK(runs::saved_text("e1", answer_with(text), "ok", text.size()) == text);
  mcp::ToolResult failed = answer_with(text);
  failed.is_error = true;
  Json stored = Json::parse(runs::saved_text("e1", failed, "timeout", 800));
  CHECK(stored["success"] == false);
  CHECK(stored["outcome"] == "timeout");
  CHECK(stored["execution_id"] == "e1");
  CHECK(stored["truncated"]["answer"]["bytes"] == text.size());
  CHECK(stored["answer_begins"] == text.substr(0, 50));
  CHECK_THAT(stored["notes"][0].get<std::string>(), Contains("write it to a file in the workspace"));
  const Json cut =
      Json::parse(runs::saved_text("e1", answer_with("{\"a\":\"" + std::string(999, '\xc3') + "\"}"), "ok", 160));
  CHECK(cut["success"] == true);
  Json empty = Json::parse(runs::saved_text("e1", {}, "ok", 800));
  CHECK(empty["error"] == "the answer has no text");
}

TEST_CASE("the answer of an interrupted execution names the one that continues", "[background]") {
  Json alone = Json::parse(runs::interrupted_answer("e1", ""));
  CHECK(alone["outcome"] == "interrupted");
  CHECK(alone["may_have_run"] == true);
  CHECK_FALSE(alone.contains("resumed_as"));
  CHECK(Json::parse(runs::interrupted_answer("e1", "e2"))["resumed_as"] == "e2");
}

TEST_CASE("a URI with an id alone names an execution", "[background]") {
  CHECK(runs::execution_of_uri("exec:///e12-3") == "e12-3");
  for (const char* other :
       {"exec:///", "exec:///e1/stdout", "exec:///E1", "exec:///../e1", "workspace:///e1", "e1", ""}) {
    CAPTURE(other);
    CHECK_FALSE(runs::execution_of_uri(other));
  }
}

TEST_CASE("to delete an execution that runs is to cancel it", "[background]") {
  BackgroundScene scene;
  scene.begin();
  auto record = std::make_shared<executions::ExecutionRecord>();
  record->id = kBackground;
  record->policy = std::make_shared<policies::Policy>();
  executions::ExecutionRegistry::Entry entry(scene.registry, record);
  entry.start("python", {});
  const auto foreign = runs::delete_execution(scene.store, scene.registry, "other", kBackground);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == Code::not_found);
  CHECK_FALSE(record->handle.cancelled());
  const auto cancelled = runs::delete_execution(scene.store, scene.registry, "acme", kBackground);
  REQUIRE(cancelled);
  CHECK((*cancelled)["message"] == "Cancelled " + kBackground);
  CHECK(record->handle.cancelled());
  CHECK(scene.found()->state == TaskState::working);  // until its program has ended
}

TEST_CASE("to delete an execution that has ended is to remove its result", "[background]") {
  BackgroundScene scene;
  scene.begin();
  scene.task->end(answer_with("{}"), "ok");
  const auto deleted = runs::delete_execution(scene.store, scene.registry, "acme", kBackground);
  REQUIRE(deleted);
  CHECK((*deleted)["message"] == "Deleted the result of " + kBackground);
  CHECK_FALSE(scene.found());
  CHECK_FALSE(runs::delete_execution(scene.store, scene.registry, "acme", kBackground));
}

TEST_CASE("a call of the protocol that became a task is no background execution", "[background]") {
  BackgroundScene scene;
  tasks::NewTask call;
  call.owner = {"acme", "token:ci"};
  call.id = kBackground;
  REQUIRE(await(scene.loop, scene.store.begin(std::move(call))));
  CHECK(scene.read().error().code == Code::not_found);
  CHECK_FALSE(runs::delete_execution(scene.store, scene.registry, "acme", kBackground));
}
