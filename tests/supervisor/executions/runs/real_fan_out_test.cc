// FanOut in real jails: one call whose code runs once for each item.
#include "supervisor/executions/runs/execute.h"
#include "supervisor/executions/runs/execute_answer.h"
#include "tests/supervisor/executions/runs/real_scene.h"

using Catch::Matchers::Contains;
using runs_test::body_of;
using runs_test::JailScene;
using runs_test::StartedCall;

namespace {

mcp::ToolResult fork_answer(JailScene& scene, const std::string& code, Json items, Json more = Json::object()) {
  more["code"] = code;
  more["fork"] = std::move(items);
  return scene.execute(std::move(more));
}

std::vector<std::string> outcomes_of(Json body) {
  std::vector<std::string> all;
  for (Json& element : body["results"]) all.push_back(element["outcome"].get<std::string>());
  return all;
}

using Outcomes = std::vector<std::string>;

}  // namespace

TEST_CASE("the code runs once for each item, and the results are in the items' order", "[fork]") {
  JailScene scene;
  const mcp::ToolResult result =
      fork_answer(scene, "result = [item, factor]", {1, "two", {{"three", 3}}}, {{"context_vars", {{"factor", 7}}}});
  Json body = body_of(result);
  CAPTURE(body.dump());
  CHECK_FALSE(result.is_error);
  CHECK(body["success"] == true);
  REQUIRE(body["results"].size() == 3);
  CHECK(body["results"][0]["result"] == Json({1, 7}));
  CHECK(body["results"][1]["result"] == Json({"two", 7}));
  CHECK(body["results"][2]["result"][0] == Json{{"three", 3}});
  CHECK_FALSE(body.contains("failed"));
  const std::string id = body["execution_id"].get<std::string>();
  for (size_t i = 0; i < 3; i++) {
    Json& element = body["results"][i];
    CHECK(element["execution_id"] == id + "-" + std::to_string(i));
    CHECK_FALSE(element.contains("success"));
    CHECK_FALSE(element.contains("output"));
    REQUIRE(scene.row_of(id + "-" + std::to_string(i)));
  }
  CHECK_FALSE(scene.row_of(id));  // the call has no row of its own
  CHECK(scene.executions.find(id)->outcome == "ok");
  CHECK(scene.executions.sums().totals.executions == 3);
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("a branch that fails is named, and the call is an error only if all fail", "[fork]") {
  JailScene scene;
  mcp::ToolResult result = fork_answer(scene, "result = 6 / item", {1, 0, 2});
  Json body = body_of(result);
  CHECK_FALSE(result.is_error);
  CHECK(body["success"] == false);
  CHECK(body["failed"] == Json({1}));
  CHECK(outcomes_of(body) == Outcomes{"ok", "error", "ok"});
  CHECK_THAT(body["results"][1]["error"].get<std::string>(), Contains("ZeroDivisionError"));
  CHECK(scene.executions.find(body["execution_id"].get<std::string>())->outcome == "error");
  result = fork_answer(scene, "1 / 0", {1, 2});
  CHECK(result.is_error);
  CHECK(body_of(result)["failed"] == Json({0, 1}));
}

TEST_CASE("the branches share what one answer may print and return", "[fork]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) {
    policy.limits.standard.output_bytes = 2000;
    policy.limits.standard.result_bytes = policy.limits.maximum.result_bytes = 8000;
  });
  Json body = body_of(fork_answer(scene, "print('p' * 1500)\nresult = 'r' * item", {100, 7000}));
  CAPTURE(body.dump());
  CHECK(body["results"][0]["truncated"]["stdout"]["bytes"] == 1501);
  CHECK(body["results"][0]["result"] == std::string(100, 'r'));
  Json& large = body["results"][1];
  CHECK_FALSE(large.contains("result"));
  CHECK(large["truncated"]["result"]["bytes"] == 7000);
  CHECK(large["result_begins"] == std::string(500, 'r'));
  CHECK(large["outcome"] == "ok");
}

TEST_CASE("timeout_seconds is for all branches together, and those that never began say so", "[fork]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.concurrent_executions = 1; });
  Json body = body_of(fork_answer(scene, "import time\ntime.sleep(60)", {1, 2, 3}, {{"timeout_seconds", 1}}));
  CAPTURE(body.dump());
  CHECK(outcomes_of(body) == Outcomes{"timeout", "timeout", "timeout"});
  CHECK(body["failed"] == Json({0, 1, 2}));
  Json& last = body["results"][2];
  CHECK_FALSE(last.contains("execution_id"));
  CHECK(last["error"] == "the call's 1 seconds passed before this branch began; it did not run");
  CHECK_THAT(last["remedy"].get<std::string>(), Contains("timeout_seconds"));
}

TEST_CASE("an administrator's cancellation ends the branches that run, and begins no further one", "[fork]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.concurrent_executions = 2; });
  const std::string code = "import time\nopen(f'began-{item}', 'w').close()\ntime.sleep(0 if item == 0 else 60)";
  const Json arguments = {{"code", code}, {"fork", {0, 1, 2, 3}}};
  StartedCall call(scene,
                   [&](mcp::RequestContext& context) { return runs::execute(scene.environment, context, arguments); });
  const auto have_begun = [&] {
    return std::filesystem::exists(scene.workspace() / "began-1") &&
           std::filesystem::exists(scene.workspace() / "began-2");
  };
  REQUIRE(run_until(scene.loop, have_begun, std::chrono::seconds(60)));
  executions::ExecutionRecordPtr execution_record_ptr;
  for (const auto& record : scene.executions.all())
    if (record->id.find('-') == std::string::npos) execution_record_ptr = record;
  REQUIRE(execution_record_ptr);
  REQUIRE(scene.executions.cancel(*execution_record_ptr));
  Json body = body_of(call.result());
  CAPTURE(body.dump());
  CHECK(outcomes_of(body) == Outcomes{"ok", "cancelled", "cancelled", "cancelled"});
  CHECK(body["results"][1].contains("execution_id"));
  CHECK_FALSE(body["results"][3].contains("execution_id"));
  CHECK_THAT(body["results"][3]["error"].get<std::string>(), Contains("before this branch began"));
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("a call whose client leaves ends all its branches", "[fork]") {
  JailScene scene;
  std::string id;
  {
    const Json arguments = {{"code", "import time\nopen(f'began-{item}', 'w').close()\ntime.sleep(60)"},
                            {"fork", {1, 2}}};
    StartedCall call(
        scene, [&](mcp::RequestContext& context) { return runs::execute(scene.environment, context, arguments); });
    const auto have_begun = [&] {
      return std::filesystem::exists(scene.workspace() / "began-1") &&
             std::filesystem::exists(scene.workspace() / "began-2");
    };
    REQUIRE(run_until(scene.loop, have_begun, std::chrono::seconds(60)));
    for (const auto& record : scene.executions.all())
      if (record->id.find('-') == std::string::npos) id = record->id;
  }
  CHECK(scene.admission.running() == 0);
  CHECK(scene.executions.find(id)->outcome == "cancelled");
  CHECK(scene.executions.find(id)->message == "cancelled with its branches; 0 of 2 had ended");
  for (const char* branch : {"-0", "-1"}) CHECK(scene.row_of(id + branch)->ended.outcome == "cancelled");
}

TEST_CASE("branches get the values of a session that the code names, and the session stays as it is", "[fork]") {
  JailScene scene;
  REQUIRE(body_of(scene.execute({{"code", "table = [10, 20]\nother = 5"}, {"session", "s"}}))["success"] == true);
  Json body = body_of(fork_answer(scene, "table.append(item)\nresult = sum(table)", {1, 2}, {{"session", "s"}}));
  CAPTURE(body.dump());
  CHECK(body["success"] == true);
  CHECK(body["results"][0]["result"] == 31);
  CHECK(body["results"][1]["result"] == 32);
  CHECK(body["session"]["name"] == "s");
  CHECK(body["shared"]["names"] == Json({"table"}));
  Json after = body_of(scene.execute({{"code", "table"}, {"session", "s"}}));
  CHECK(after["result"] == Json({10, 20}));
}

TEST_CASE("a value that a session cannot share refuses the call before its branches", "[fork]") {
  JailScene scene;
  REQUIRE(body_of(scene.execute(
              {{"code", "import threading\nlock = threading.Lock()"}, {"session", "s"}}))["success"] == true);
  Json body = body_of(fork_answer(scene, "result = lock", {1, 2}, {{"session", "s"}}));
  CAPTURE(body.dump());
  CHECK(body["success"] == false);
  CHECK(body["rule"] == "session");
  CHECK_THAT(body["error"].get<std::string>(), Contains("fork: ") && Contains("lock"));
  CHECK_FALSE(body.contains("results"));
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("receipts of branches are a list in the order of the items", "[fork]") {
  JailScene scene;
  const mcp::ToolResult result = scene.execute({{"code", "1"}, {"fork", {1, 2}}}, {{runs::kReceiptKey, true}});
  REQUIRE(result.meta.contains("org.warder/receipts"));
  Json receipts = Json::parse(result.meta.at("org.warder/receipts"));
  REQUIRE(receipts.size() == 2);
  CHECK(receipts[1]["no_new_privileges"] == true);
}

TEST_CASE("an image of a branch is behind the whole answer's text, and its element counts it", "[fork]") {
  JailScene scene;
  // One after the other: branches that run at once see the files of each other.
  scene.change_policy([](policies::Policy& policy) { policy.concurrent_executions = 1; });
  const std::string code = "if item: open(f'{item}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + item.encode())";
  const mcp::ToolResult result = fork_answer(scene, code, {"", "plot"});
  Json body = body_of(result);
  CAPTURE(body.dump());
  size_t images = 0;
  for (const mcp::Block& block : result.content) images += std::holds_alternative<mcp::Image>(block) ? 1 : 0;
  CHECK(images == 1);
  CHECK(body["results"][1]["images"] == 1);
  CHECK_FALSE(body["results"][0].contains("images"));
}
