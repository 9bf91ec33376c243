// Executions with an id of their client: one run for each id, one answer for each call, and cancellations that come
// before their order. The programs are played by functions of the test.
#include "supervisor/executions/runs/named_execution.h"

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/written_result.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/tenant.h"
#include "tests/supervisor/executions/runs/scene.h"

using Catch::Matchers::Contains;
using runs_test::body_of;
using runs_test::IdleScene;
using runs_test::StartedCall;
using tasks::TaskState;

namespace {

using Ids = std::vector<std::string>;
const std::string kChosen = "11111111-2222-3333";

struct NamedScene : IdleScene {
  int programs = 0;                              // that began
  bool keeps_answer = true;                      // the program may have begun
  std::vector<std::shared_ptr<Event>> reserved;  // of programs that wait for the test
  bool holds = false;                            // programs wait
  mcp::ToolResult answer = mcp::ToolResult::text(R"({"success":true,"result":1})");

  runs::RunNamed program() {
    return [this](Json, runs::NamedRun& run) -> Task<mcp::ToolResult> {
      programs++;
      if (holds) {
        const auto event = std::make_shared<Event>();
        reserved.push_back(event);
        co_await *event;
      }
      run.keeps_answer = keeps_answer;
      co_return answer;
    };
  }
  StartedCall::Begin named_call(Json arguments) {
    return [this, arguments = std::move(arguments)](mcp::RequestContext& context) {
      return runs::execute_named(environment, context, arguments, program());
    };
  }
  static Json meta_of(const std::string& chosen) { return {{runs::kExecutionIdKey, chosen}}; }
  mcp::ToolResult call(const std::string& code = "1", const std::string& chosen = kChosen) {
    StartedCall started(*this, named_call({{"code", code}}), meta_of(chosen));
    return started.result();
  }
  std::string id(const std::string& chosen = kChosen) { return runs::execution_of_chosen(tenant().name(), chosen); }
  runs::ExecutionStores stores() { return {tasks, named, executions}; }
  const tasks::StoredTask* entry() { return named.find_of_tenant(id(), tenant().name()); }
  Result<Json> cancel() {
    return finish(runs::cancel_named(stores(), {tenant().name(), member->principal.name()}, kChosen));
  }
  void wait_for_programs(size_t count) {
    REQUIRE(run_until(loop, [&] { return reserved.size() == count; }));
  }
};

}  // namespace

TEST_CASE("a client's id has 16 to 64 characters, and is no id of the daemon", "[named]") {
  const std::string digits = "0123456789abcdef";
  for (const std::string& good : Ids{digits, std::string(64, 'z'), kChosen, "a_b-c_d-e_f-g_h-i", "e" + digits.substr(1),
                                     "f" + digits, "e" + digits + "-", "e" + digits.substr(1) + "z"}) {
    CAPTURE(good);
    CHECK(runs::check_chosen_id(good));
  }
  for (const std::string& bad : Ids{"", digits.substr(1), std::string(65, 'z'), "A" + digits, "-" + digits,
                                    digits + "/", digits + ".", "e" + digits, "e" + digits + digits}) {
    CAPTURE(bad);
    const auto checked = runs::check_chosen_id(bad);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Code::invalid);
    CHECK(checked.error().rule == "executionId");
    CHECK_THAT(checked.error().hint, Contains("UUID"));
  }
}

TEST_CASE("the execution of an id is another one for each tenant", "[named]") {
  const std::string id = runs::execution_of_chosen("acme", kChosen);
  CHECK(id.size() == 33);
  CHECK(id.front() == 'e');
  CHECK(id == runs::execution_of_chosen("acme", kChosen));
  CHECK(id != runs::execution_of_chosen("acme/reports", kChosen));
  CHECK(id != runs::execution_of_chosen("acme1", kChosen.substr(1)));
  CHECK_FALSE(runs::check_chosen_id(id));
}

TEST_CASE("a request without the key has no id, and a wrong value is refused", "[named]") {
  CHECK_FALSE(runs::has_chosen_id(Json()));
  CHECK_FALSE(runs::has_chosen_id(Json::object()));
  CHECK(runs::has_chosen_id({{runs::kExecutionIdKey, 5}}));
  NamedScene scene;
  for (const Json& value : {Json(5), Json("short"), Json(nullptr)}) {
    StartedCall started(scene, scene.named_call({{"code", "1"}}), {{runs::kExecutionIdKey, value}});
    CHECK(body_of(started.result())["code"] == "invalid");
    CHECK(started.result().is_error);
  }
  CHECK(scene.programs == 0);
}

TEST_CASE("the second call of an id gets the answer of the first, and no program runs twice", "[named]") {
  NamedScene scene;
  const mcp::ToolResult first = scene.call();
  CHECK(body_of(first)["result"] == 1);
  CHECK_FALSE(first.meta.contains("org.warder/kept"));
  const mcp::ToolResult second = scene.call();
  CHECK(body_of(second) == body_of(first));
  CHECK(second.meta.at("org.warder/kept") == "true");
  CHECK(scene.programs == 1);
  CHECK(scene.entry()->state == TaskState::completed);
  CHECK(body_of(scene.call("1", kChosen + "x"))["result"] == 1);
  CHECK(scene.programs == 2);
}

TEST_CASE("the answer of a program that failed is a failure for each call", "[named]") {
  NamedScene scene;
  scene.answer = mcp::ToolResult::error(R"({"success":false,"outcome":"error"})");
  CHECK(scene.call().is_error);
  CHECK(scene.call().is_error);
  CHECK(scene.programs == 1);
}

TEST_CASE("an id with other arguments is refused", "[named]") {
  NamedScene scene;
  scene.call("1");
  Json refused = body_of(scene.call("2"));
  CHECK(refused["code"] == "invalid");
  CHECK_THAT(refused["error"].get<std::string>(), Contains("other arguments"));
  CHECK(scene.programs == 1);
}

TEST_CASE("large arguments are compared, too", "[named]") {
  NamedScene scene;
  const std::string large(3 << 20, 'x');
  scene.call(large);
  CHECK(scene.call(large).meta.contains("org.warder/kept"));
  CHECK(body_of(scene.call(large + "y"))["code"] == "invalid");
  CHECK(scene.programs == 1);
}

TEST_CASE("a call that comes while the program runs waits for its answer", "[named]") {
  NamedScene scene;
  scene.holds = true;
  StartedCall first(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  StartedCall second(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  mcp_test::settle(scene.loop);
  CHECK_FALSE(second.is_done());
  scene.reserved[0]->fire();
  CHECK(body_of(second.result()) == body_of(first.result()));
  CHECK(scene.programs == 1);
}

TEST_CASE("a background call that comes again gets the handle at once", "[named]") {
  NamedScene scene;
  scene.holds = true;
  const Json arguments = {{"code", "1"}, {"background", true}};
  StartedCall first(scene, scene.named_call(arguments), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  StartedCall second(scene, scene.named_call(arguments), NamedScene::meta_of(kChosen));
  CHECK(body_of(second.result())["state"] == "working");
  CHECK(body_of(second.result())["execution_id"] == scene.id());
  CHECK_FALSE(first.is_done());
}

TEST_CASE("if no program ran, the id can be used again", "[named]") {
  NamedScene scene;
  scene.keeps_answer = false;
  scene.call("1");
  CHECK_FALSE(scene.entry());
  scene.call("2");
  CHECK(scene.programs == 2);
}

TEST_CASE("a call that waited for one that ran no program takes its place", "[named]") {
  NamedScene scene;
  scene.holds = true;
  scene.keeps_answer = false;
  StartedCall first(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  StartedCall second(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  mcp_test::settle(scene.loop);
  scene.reserved[0]->fire();
  scene.wait_for_programs(2);
  CHECK(first.is_done());
  scene.reserved[1]->fire();
  second.result();
  CHECK(scene.programs == 2);
}

TEST_CASE("the id of a call that was cancelled answers that its program may have run", "[named]") {
  NamedScene scene;
  scene.holds = true;
  {
    StartedCall first(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
    scene.wait_for_programs(1);
  }
  CHECK(scene.entry()->state == TaskState::cancelled);
  const mcp::ToolResult tool_result = scene.call();
  CHECK(tool_result.is_error);
  CHECK(body_of(tool_result)["outcome"] == "cancelled");
  CHECK(body_of(tool_result)["may_have_run"] == true);
  CHECK(body_of(tool_result)["execution_id"] == scene.id());
  CHECK(scene.programs == 1);
}

TEST_CASE("at the end of the daemon an entry stays for the next one, which ends it as interrupted", "[named]") {
  NamedScene scene;
  scene.holds = true;
  {
    StartedCall first(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
    scene.wait_for_programs(1);
    scene.admission.close({Code::unavailable, 0, "the daemon ends", {}, {}});
  }
  CHECK(scene.entry()->state == TaskState::working);
  const auto text = mcp::read_result_text(runs::interrupted_named(scene.id()));
  REQUIRE(text);
  CHECK(text->is_error);
  CHECK(body_of(*text)["outcome"] == "interrupted");
}

TEST_CASE("the journal refuses an id whose answer is no longer stored", "[named]") {
  NamedScene scene;
  journal::Ended ended;
  ended.outcome = "ok";
  auto row = scene.journal->begin({scene.id(), scene.tenant().name(), "python", "default", 1, journal::now_ms()});
  REQUIRE(scene.finish(scene.journal->end(std::move(row), ended)));
  const mcp::ToolResult refused = scene.call();
  CHECK(body_of(refused)["code"] == "denied");
  CHECK(body_of(refused)["may_have_run"] == true);
  CHECK_THAT(body_of(refused)["error"].get<std::string>(), Contains("asked for before"));
  CHECK(scene.programs == 0);
  CHECK(scene.call().meta.contains("org.warder/kept"));
}

TEST_CASE("an id in another workspace, and a stateless execution, are other cases", "[named]") {
  NamedScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.workspaces = {"*"}; });
  scene.call();
  Json meta = NamedScene::meta_of(kChosen);
  meta[tenants::kWorkspaceKey] = "reports";
  StartedCall named(scene, scene.named_call({{"code", "2"}}), meta);
  CHECK(body_of(named.result())["result"] == 1);
  CHECK(scene.programs == 2);
  meta = NamedScene::meta_of(kChosen);
  meta[tenants::kPlaceKey] = "any";
  StartedCall anywhere(scene, scene.named_call({{"code", "1"}}), meta);
  CHECK_THAT(body_of(anywhere.result())["error"].get<std::string>(), Contains("no id of its client"));
  CHECK(scene.programs == 2);
}

TEST_CASE("a cancellation that comes before its order makes the order fail", "[named]") {
  NamedScene scene;
  const auto cancelled = scene.cancel();
  REQUIRE(cancelled);
  CHECK_THAT((*cancelled)["message"].get<std::string>(), Contains("it will not run"));
  const mcp::ToolResult refused = scene.call();
  CHECK(body_of(refused)["outcome"] == "cancelled");
  CHECK(body_of(refused)["may_have_run"] == false);
  CHECK(scene.programs == 0);
  CHECK_THAT((*scene.cancel())["message"].get<std::string>(), Contains("has ended"));
}

TEST_CASE("a cancellation of a program that runs ends its jail, and the program's answer stays", "[named]") {
  NamedScene scene;
  scene.holds = true;
  StartedCall call(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  auto record = std::make_shared<executions::ExecutionRecord>();
  record->id = scene.id();
  record->policy = scene.member->policy;
  executions::ExecutionRegistry::Entry entry(scene.executions, record);
  entry.start("python", {});
  REQUIRE(scene.cancel());
  CHECK(record->handle.cancelled());
  CHECK(scene.entry()->state == TaskState::working);
  scene.reserved[0]->fire();
  CHECK(body_of(call.result())["result"] == 1);
  CHECK(body_of(scene.call())["result"] == 1);
}

TEST_CASE("a cancellation of a call that waits for a place is its answer", "[named]") {
  NamedScene scene;
  scene.holds = true;
  scene.keeps_answer = false;
  StartedCall call(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  REQUIRE(scene.cancel());
  CHECK(scene.entry()->state == TaskState::cancelled);
  scene.reserved[0]->fire();
  CHECK(body_of(call.result())["outcome"] == "cancelled");
  CHECK(call.result().meta.contains("org.warder/kept"));
}

TEST_CASE("an answer that is too long to be stored is stored with its beginning", "[named]") {
  NamedScene scene;
  const size_t max = runs::named_limits().result_bytes;
  scene.answer = mcp::ToolResult::text(R"({"result":")" + std::string(max, 'x') + "\"}");
  CHECK(body_of(scene.call())["result"].get_ref<const std::string&>().size() == max);
  Json retry = body_of(scene.call());
  CHECK(retry["truncated"]["answer"]["bytes"] == max + 13);
  CHECK_THAT(retry["answer_begins"].get<std::string>(), Contains("xxx"));
  CHECK(retry["execution_id"] == scene.id());
}

TEST_CASE("the result of an id can be read by its client's text or by the execution's id", "[named]") {
  NamedScene scene;
  const auto read = [&](const std::string& execution) {
    return scene.finish(runs::find_result(scene.stores(), scene.tenant(), execution));
  };
  CHECK(read(kChosen).error().code == Code::not_found);
  CHECK(read("e0123456789abcdef").error().code == Code::not_found);
  scene.holds = true;
  StartedCall call(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  auto match = read(kChosen);
  REQUIRE(match);
  CHECK(match->state == runs::ExecutionResult::State::working);
  CHECK(Json::parse(match->text) == Json{{"execution_id", scene.id()}, {"state", "working"}});
  scene.reserved[0]->fire();
  call.result();
  match = read(kChosen);
  REQUIRE(match);
  CHECK(match->state == runs::ExecutionResult::State::ended);
  CHECK(Json::parse(match->text)["result"] == 1);
}

TEST_CASE("to await a result ends with the execution or with the wait", "[named]") {
  NamedScene scene;
  scene.holds = true;
  StartedCall call(scene, scene.named_call({{"code", "1"}}), NamedScene::meta_of(kChosen));
  scene.wait_for_programs(1);
  const auto awaited = [&](std::chrono::milliseconds wait) {
    return runs::await_result(scene.loop, scene.stores(), scene.tenant(), kChosen, wait);
  };
  const auto early = scene.finish(awaited(std::chrono::milliseconds(1)));
  REQUIRE(early);
  CHECK(early->state == runs::ExecutionResult::State::working);
  auto waiting = start(awaited(std::chrono::hours(1)));
  mcp_test::settle(scene.loop);
  CHECK_FALSE(waiting.done());
  scene.reserved[0]->fire();
  CHECK(run_until(scene.loop, [&] { return waiting.done(); }));
}

TEST_CASE("the result of an execution in the foreground is its stored value", "[named]") {
  NamedScene scene;
  const std::string id = "e0123456789abcdef";
  {
    auto recording = scene.tenant().executions().begin(id);
    REQUIRE(recording);
    REQUIRE(recording->append(tenants::Stream::value, "[1]"));
  }
  const auto found = scene.finish(runs::find_result(scene.stores(), scene.tenant(), id));
  REQUIRE(found);
  CHECK(found->state == runs::ExecutionResult::State::stored);
}
