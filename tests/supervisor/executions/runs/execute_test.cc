// One call of execute_code up to its jail: what refuses it, what a refusal says and records, and how its wait ends.
#include "supervisor/executions/runs/execute.h"

#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/tenants/tenant.h"
#include "tests/supervisor/executions/runs/scene.h"

using Catch::Matchers::Contains;
using executions::Stage;
using runs_test::body_of;
using runs_test::IdleScene;
using runs_test::RunsClient;
using runs_test::StartedCall;

namespace {

struct CallScene : IdleScene {
  StartedCall::Begin with(Json arguments) {
    return [this, arguments = std::move(arguments)](mcp::RequestContext& context) {
      return runs::execute(environment, context, arguments);
    };
  }
  executions::ExecutionRecordPtr last_record() {
    const auto all = executions.all();
    REQUIRE_FALSE(all.empty());
    return all.back();
  }
  // The tenant's only place: another call waits as long as the permit exists.
  executions::Admission::Permit take_only_place() {
    change_policy([](policies::Policy& policy) { policy.concurrent_executions = 1; });
    auto permit = finish(admission.enter({tenant().account(), nullptr}, *member->policy, "first"));
    REQUIRE(permit);
    return *std::move(permit);
  }
  void wait_for_line() {
    REQUIRE(run_until(loop, [this] { return admission.waiting() == 1; }));
  }
};

std::string error_in(const mcp::ToolResult& result) { return body_of(result)["error"].get<std::string>(); }

}  // namespace

TEST_CASE("a call with wrong arguments is denied, is in the registry, and leaves no row", "[execute]") {
  CallScene scene;
  const mcp::ToolResult refused = scene.execute({{"code", "1"}, {"language", "perl"}});
  CHECK(refused.is_error);
  Json body = body_of(refused);
  CHECK(body["success"] == false);
  CHECK(body["code"] == "invalid");
  CHECK(body["outcome"] == "denied");
  CHECK(body["rule"] == "languages");
  CHECK_FALSE(body.contains("execution_id"));
  CHECK_FALSE(body.contains("may_have_run"));
  const auto record = scene.last_record();
  CHECK(record->stage == Stage::ended);
  CHECK(record->outcome == "denied");
  CHECK(record->tenant == scene.tenant().id());
  CHECK(record->principal == scene.member->principal.name());
  CHECK(record->id.size() == 17);
  CHECK_FALSE(scene.row_of(record->id));
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("a session's arguments are checked before the call waits", "[execute]") {
  CallScene scene;
  CHECK_THAT(error_in(scene.execute({{"code", "1"}, {"session", "a/b"}})), Contains("session"));
  CHECK_THAT(error_in(scene.execute({{"code", "1"}, {"reset_session", true}})), Contains("no session is named"));
  CHECK_THAT(error_in(scene.execute({{"code", "1"}, {"fork", Json::array()}})), Contains("no item"));
  CHECK_THAT(error_in(scene.execute({{"code", "1"}, {"fork", {1}}, {"session", "unknown"}})), Contains("unknown"));
}

TEST_CASE("the end of a session that does not exist is a good answer without a program", "[execute]") {
  CallScene scene;
  const mcp::ToolResult ended = scene.execute({{"code", ""}, {"session", "s"}, {"reset_session", true}});
  CHECK_FALSE(ended.is_error);
  CHECK(body_of(ended)["success"] == true);
  CHECK(body_of(ended)["session"] == Json{{"name", "s"}, {"ended", false}});
  CHECK(scene.last_record()->outcome == "ok");
  CHECK(scene.executions.sums().totals.executions == 0);  // no program ran
}

TEST_CASE("a workspace that the policy does not allow is denied", "[execute]") {
  CallScene scene;
  Json body = body_of(scene.execute({{"code", "1"}}, {{tenants::kWorkspaceKey, "reports"}}));
  CHECK(body["code"] == "denied");
  CHECK(body["rule"] == "workspaces");
}

TEST_CASE("a place is home or any, and a stateless execution needs the policy", "[execute]") {
  CallScene scene;
  const Json code = {{"code", "1"}};
  CHECK_THAT(error_in(scene.execute(code, {{tenants::kPlaceKey, "moon"}})), Contains("neither"));
  Json denied = body_of(scene.execute(code, {{tenants::kPlaceKey, "any"}}));
  CHECK(denied["rule"] == "cluster.spread");
  scene.change_policy([](policies::Policy& policy) { policy.cluster.spreads_stateless = true; });
  const Json both = {{tenants::kPlaceKey, "any"}, {tenants::kWorkspaceKey, "default"}};
  CHECK_THAT(error_in(scene.execute(code, both)), Contains("has no workspace"));
  const Json session = {{"code", "1"}, {"session", "s"}};
  CHECK_THAT(error_in(scene.execute(session, {{tenants::kPlaceKey, "any"}})),
             Contains("a stateless execution has none"));
}

TEST_CASE("while no program may begin, a call is refused after its wait, and gives its place back", "[execute]") {
  CallScene scene;
  scene.refusal = Error{Code::unavailable, 0, "the disk is full", "make room", {}};
  Json body = body_of(scene.execute({{"code", "1"}}));
  CHECK(body["error"] == "the disk is full");
  CHECK(body["outcome"] == "internal");
  CHECK(body["may_have_run"] == false);
  CHECK_FALSE(body.contains("execution_id"));
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("a call that comes while the daemon ends says that the next daemon will take it", "[execute]") {
  CallScene scene;
  scene.admission.close({Code::unavailable, 0, "the daemon ends", {}, {}});
  const mcp::ToolResult refused = scene.execute({{"code", "1"}});
  CHECK(refused.is_error);
  CHECK(refused.meta == mcp::not_run_while_draining().meta);
  CHECK_FALSE(refused.meta.empty());
}

TEST_CASE("without a jail the program did not run, and the journal says so", "[execute]") {
  CallScene scene;
  scene.jailer = Fd();
  REQUIRE(run_until(scene.loop, [&] { return scene.host.jailer.is_gone(); }));
  const mcp::ToolResult refused = scene.execute({{"code", "1"}});
  Json body = body_of(refused);
  CHECK_THAT(body["error"].get<std::string>(), Contains("; the program did not run"));
  CHECK(body["may_have_run"] == false);
  REQUIRE(body.contains("execution_id"));
  const auto row = scene.row_of(body["execution_id"].get<std::string>());
  REQUIRE(row);
  CHECK(row->ended.outcome == "internal");
  CHECK(refused.meta == mcp::not_run_while_draining().meta);  // the daemon ends with its jailer
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("a call that is cancelled while it waits for a place leaves the line", "[execute]") {
  CallScene scene;
  const executions::Admission::Permit permit = scene.take_only_place();
  {
    StartedCall call(scene, scene.with({{"code", "1"}}));
    scene.wait_for_line();
    CHECK(scene.last_record()->stage == Stage::waiting);
    CHECK(scene.last_record()->language == "python");
    CHECK(scene.last_record()->workspace == "direct");
  }
  CHECK(scene.admission.waiting() == 0);
  CHECK(scene.last_record()->outcome == "cancelled");
  CHECK_FALSE(scene.last_record()->withdraw);
}

TEST_CASE("an administrator ends a call that waits for a place", "[execute]") {
  CallScene scene;
  const executions::Admission::Permit permit = scene.take_only_place();
  const Json arguments = GENERATE(Json{{"code", "1"}}, Json{{"code", "1"}, {"fork", {1, 2}}});
  CAPTURE(arguments.dump());
  StartedCall call(scene, scene.with(arguments));
  scene.wait_for_line();
  REQUIRE(scene.executions.cancel(*scene.last_record()));
  Json body = body_of(call.result());
  CHECK(body["code"] == "denied");
  CHECK_THAT(body["error"].get<std::string>(), Contains("administrator"));
  CHECK(scene.admission.waiting() == 0);
}

TEST_CASE("a full queue refuses a call with the policy's rule", "[execute]") {
  CallScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.queued_executions = 1; });
  const executions::Admission::Permit permit = scene.take_only_place();
  StartedCall waiting(scene, scene.with({{"code", "1"}}));
  scene.wait_for_line();
  Json body = body_of(scene.execute({{"code", "1"}}));
  CHECK(body["code"] == "exhausted");
  CHECK(body["rule"] == "admission.queued_executions");
  CHECK_FALSE(waiting.is_done());
}

TEST_CASE("a call with an id of its client that runs no program can be sent again with it", "[execute]") {
  CallScene scene;
  const Json meta = {{runs::kExecutionIdKey, "11111111-2222-3333"}};
  Json first = body_of(scene.execute({{"code", "1"}, {"language", "perl"}}, meta));
  CHECK(first["code"] == "invalid");
  CHECK_FALSE(first.contains("execution_id"));
  Json second = body_of(scene.execute({{"code", "1"}, {"session", "a/b"}}, meta));
  CHECK_THAT(second["error"].get<std::string>(), Contains("session"));
}

TEST_CASE("a call with an id of its client whose jail failed keeps its refusal", "[execute]") {
  CallScene scene;
  scene.jailer = Fd();
  REQUIRE(run_until(scene.loop, [&] { return scene.host.jailer.is_gone(); }));
  const std::string chosen = "11111111-2222-3333";
  const Json meta = {{runs::kExecutionIdKey, chosen}};
  const mcp::ToolResult first = scene.execute({{"code", "1"}}, meta);
  CHECK(body_of(first)["may_have_run"] == false);
  CHECK(body_of(first)["execution_id"] == runs::execution_of_chosen(scene.tenant().name(), chosen));
  CHECK(first.meta.empty());  // asked again, the answer would be the same
  CHECK(body_of(scene.execute({{"code", "1"}}, meta)) == body_of(first));
}

TEST_CASE("a background call is answered at once, and stays when its client leaves", "[execute]") {
  CallScene scene;
  RunsClient client(scene);
  client.call(1, {{"code", "1"}, {"background", true}});
  Json handle = Json::parse(client.result()["content"][0]["text"].get<std::string>());
  CHECK(handle["state"] == "working");
  const std::string id = handle["execution_id"].get<std::string>();
  client.close();
  mcp_test::settle(scene.loop);
  const auto record = scene.executions.find(id);
  REQUIRE(record);
  CHECK(record->background);
  CHECK(record->stage != Stage::ended);
  REQUIRE(scene.tasks.find_of_tenant(id, scene.tenant().name()));
}

TEST_CASE("a background call with wrong arguments is answered by its task", "[execute]") {
  CallScene scene;
  RunsClient client(scene);
  client.call(1, {{"code", "1"}, {"background", true}, {"language", "perl"}});
  Json handle = Json::parse(client.result()["content"][0]["text"].get<std::string>());
  const std::string id = handle["execution_id"].get<std::string>();
  const auto* task = scene.tasks.find_of_tenant(id, scene.tenant().name());
  REQUIRE(task);
  REQUIRE(run_until(scene.loop,
                    [&] { return tasks::is_ended(scene.tasks.find_of_tenant(id, scene.tenant().name())->state); }));
  const auto text = scene.finish(scene.tasks.result(id));
  REQUIRE(text);
  CHECK(Json::parse(*text)["rule"] == "languages");
}

TEST_CASE("a call in the background needs a client that can be answered before its end", "[execute]") {
  CallScene scene;
  Json body = body_of(scene.execute({{"code", "1"}, {"background", true}}));
  CHECK(body["code"] == "unavailable");
  CHECK(body["may_have_run"] == false);
  CHECK(scene.tasks.counts().running == 0);
}

TEST_CASE("an execution that is started again for a client without its workspace is answered by its task",
          "[execute]") {
  CallScene scene;
  runs::ResumedExecution execution;
  execution.run.execution = "e0123456789abcdef";
  execution.run.workflow.tenant = scene.tenant().name() + "/reports";
  execution.member = scene.member;
  execution.arguments = {{"code", "1"}, {"background", true}};
  const auto resumed = [](runs::ExecuteEnvironment& environment, runs::ResumedExecution run) -> Task<bool> {
    co_await runs::resume_execution(environment, std::move(run));
    co_return true;
  };
  CHECK(scene.finish(resumed(scene.environment, std::move(execution))));
  const auto* task = scene.tasks.find_of_tenant("e0123456789abcdef", scene.tenant().name() + "/reports");
  REQUIRE(task);
  CHECK(tasks::is_ended(task->state));
  const auto text = scene.finish(scene.tasks.result("e0123456789abcdef"));
  REQUIRE(text);
  CHECK(Json::parse(*text)["rule"] == "workspaces");
}
