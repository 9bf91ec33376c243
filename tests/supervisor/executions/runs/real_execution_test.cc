// CodeExecution in real jails: the steps of one call, from its arguments to its answer and its records.
#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/executions/runs/code_execution.h"
#include "supervisor/executions/runs/execute.h"
#include "supervisor/executions/runs/named_execution.h"
#include "tests/file_times.h"
#include "tests/supervisor/executions/runs/real_scene.h"

using Catch::Matchers::Contains;
using runs::CodeExecution;
using runs_test::body_of;
using runs_test::JailScene;
using runs_test::StartedCall;

namespace {

// One CodeExecution with its recording, without execute().
struct DirectExecution {
  JailScene& scene;
  std::unique_ptr<mcp::RequestContext> client;
  executions::ExecutionRecording recording;
  CodeExecution execution;

  DirectExecution(JailScene& in, const std::string& id)
      : scene(in),
        client(in.request()),
        recording({in.loop, in.executions, *in.journal, in.recent_code}, {}, record_of(in, id)),
        execution(in.environment, caller(id), recording) {}
  Result<mcp::ToolResult> run(Json arguments) { return scene.finish(execution.run(std::move(arguments))); }

 private:
  static executions::ExecutionRecordPtr record_of(JailScene& in, const std::string& id) {
    auto record = std::make_shared<executions::ExecutionRecord>();
    record->id = id;
    record->tenant = in.tenant().id();
    record->policy = in.member->policy;
    record->principal = in.member->principal.name();
    record->requested_ms = journal::now_ms();
    return record;
  }
  calls::CallContext caller(const std::string& id) {
    return {scene.registry.requester_of(*client).value(), *client, id, &recording.record().handle};
  }
};

Json run_python(JailScene& scene, const std::string& code, Json more = Json::object()) {
  more["code"] = code;
  return body_of(scene.execute(std::move(more)));
}

bool mounts_overlays() {
  if (jails().host().root == jail::RootMode::overlay) return true;
  WARN("SKIPPED: this kernel mounts no overlayfs in user namespaces");
  return false;
}

std::string notes_of(const Json& body) { return body.contains("notes") ? body["notes"].dump() : ""; }

}  // namespace

TEST_CASE("a program's value, output and files are in the answer, and its end is in the journal", "[execution]") {
  JailScene scene;
  DirectExecution direct(scene, "e0123456789abcdef");
  const auto result = direct.run(
      {{"code", "print('line')\nopen('new.txt', 'w').write('x' * n)\nresult = n + 1"}, {"context_vars", {{"n", 4}}}});
  INFO((result ? "" : result.error().what));
  REQUIRE(result);
  CHECK_FALSE(result->is_error);
  Json body = body_of(*result);
  CAPTURE(body.dump());
  CHECK(body["success"] == true);
  CHECK(body["result"] == 5);
  CHECK(body["output"] == Json({"line"}));
  CHECK(body["outcome"] == "ok");
  CHECK(body["execution_id"] == "e0123456789abcdef");
  CHECK(body["files"] == Json{{"created", {"new.txt"}}});
  CHECK(runs_test::links_of(*result) == std::vector<std::string>{"workspace:///new.txt"});
  CHECK(direct.execution.succeeded());
  CHECK(direct.execution.ran() == runs::ProgramRan::maybe);
  CHECK(runs_test::get(scene.workspace() / "new.txt") == "xxxx");
  CHECK(scene.changed_files == std::vector<std::string>{"new.txt"});
  const executions::ExecutionRecord& record = direct.recording.record();
  CHECK(record.stage == executions::Stage::ended);
  CHECK(record.outcome == "ok");
  CHECK(record.start == "cold");
  CHECK(record.workspace == "direct");
  const auto row = scene.row_of("e0123456789abcdef");
  REQUIRE(row);
  CHECK(row->ended.outcome == "ok");
  CHECK(row->started.language == "python");
  CHECK(row->ended.ledger.printed_bytes == 5);
  CHECK(row->ended.ledger.returned_bytes > 0);
  CHECK(scene.admission.running() == 1);  // the execution gives its place back when it is destroyed
}

TEST_CASE("a program that fails is an answer, not an error", "[execution]") {
  JailScene scene;
  DirectExecution direct(scene, "e0123456789abcdef");
  const auto result = direct.run({{"code", "open('half.txt', 'w').write('x')\nraise ValueError('no')"}});
  REQUIRE(result);
  CHECK(result->is_error);
  Json body = body_of(*result);
  CHECK(body["success"] == false);
  CHECK(body["outcome"] == "error");
  CHECK_THAT(body["error"].get<std::string>(), Contains("ValueError: no"));
  CHECK(body["files"]["created"] == Json({"half.txt"}));
  CHECK_FALSE(direct.execution.succeeded());
  CHECK(direct.execution.ran() == runs::ProgramRan::maybe);
  CHECK(scene.row_of("e0123456789abcdef")->ended.outcome == "error");
}

TEST_CASE("an error before the program says that no program ran", "[execution]") {
  JailScene scene;
  DirectExecution direct(scene, "e0123456789abcdef");
  scene.refusal = Error{Code::unavailable, 0, "not now", {}, {}};
  const auto result = direct.run({{"code", "open('/workspace/ran', 'w')"}});
  REQUIRE_FALSE(result);
  CHECK(result.error().what == "not now");
  CHECK(direct.execution.ran() == runs::ProgramRan::no);
  CHECK_FALSE(direct.recording.was_started());
  CHECK_FALSE(std::filesystem::exists(scene.workspace() / "ran"));
}

TEST_CASE("a call that is cancelled while its program runs ends as cancelled, in registry and journal", "[execution]") {
  JailScene scene;
  std::string id;
  {
    const Json arguments = {{"code", "import time\nopen('/workspace/began', 'w').close()\ntime.sleep(60)"}};
    StartedCall call(
        scene, [&](mcp::RequestContext& context) { return runs::execute(scene.environment, context, arguments); });
    REQUIRE(run_until(
        scene.loop, [&] { return std::filesystem::exists(scene.workspace() / "began"); }, std::chrono::seconds(60)));
    id = scene.executions.all().back()->id;
    CHECK(scene.admission.running() == 1);
  }
  CHECK(scene.admission.running() == 0);
  CHECK(scene.executions.find(id)->outcome == "cancelled");
  CHECK(scene.row_of(id)->ended.outcome == "cancelled");
}

TEST_CASE("an administrator ends a program that runs, and the answer says how far it came", "[execution]") {
  JailScene scene;
  const Json arguments = {{"code",
                           "import time\nprint('began', flush=True)\nopen('/workspace/began', 'w').close()\n"
                           "time.sleep(60)"}};
  StartedCall call(scene,
                   [&](mcp::RequestContext& context) { return runs::execute(scene.environment, context, arguments); });
  REQUIRE(run_until(
      scene.loop, [&] { return std::filesystem::exists(scene.workspace() / "began"); }, std::chrono::seconds(60)));
  REQUIRE(scene.executions.cancel(*scene.executions.all().back()));
  Json body = body_of(call.result());
  CHECK(body["outcome"] == "cancelled");
  CHECK(body["output"] == Json({"began"}));
}

TEST_CASE("timeout_seconds ends the program, and a clamped limit is in the answer", "[execution]") {
  JailScene scene;
  Json body = run_python(scene, "import time\ntime.sleep(60)", {{"timeout_seconds", 0.3}});
  CHECK(body["outcome"] == "timeout");
  CHECK_FALSE(body.contains("clamped"));
  scene.change_policy([](policies::Policy& policy) { policy.limits.maximum.wall = std::chrono::seconds(40); });
  body = run_python(scene, "1", {{"timeout_seconds", 50}});
  CHECK(body["clamped"][0]["given"] == "40 s");
}

TEST_CASE("a result that is too large for its message is stored, and its beginning is in the answer", "[execution]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) {
    policy.limits.standard.result_bytes = policy.limits.maximum.result_bytes = 10'000;
  });
  const mcp::ToolResult result = scene.execute({{"code", "result = 'y' * 50_000"}});
  Json body = body_of(result);
  CHECK(body["success"] == true);
  CHECK(body["result_begins"] == std::string(2000, 'y'));
  CHECK(body["truncated"]["result"]["bytes"] == 50'000);
  CHECK(body["truncated"]["result"]["form"] == "text");
  const std::string id = body["execution_id"].get<std::string>();
  CHECK(body["truncated"]["result"]["resource"] == "exec:///" + id + "/result");
  CHECK_THAT(notes_of(body), Contains("too large for an answer"));
  CHECK(scene.tenant().executions().read(id, tenants::Stream::value, 49'990, 100)->bytes == std::string(10, 'y'));
}

TEST_CASE("a large result that fits becomes text beside the loop, and stays equal", "[execution]") {
  JailScene scene;
  Json body = run_python(scene, "result = list(range(60_000))");
  REQUIRE(body["result"].is_array());
  CHECK(body["result"].size() == 60'000);
  CHECK(body["result"][59'999] == 59'999);
}

TEST_CASE("a program that writes more than the quota ends with the outcome disk, and the rule", "[execution]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.quota.workspace_bytes = 1 << 20; });
  Json body = run_python(scene,
                         "for i in range(4): open(f'f{i}', 'w').write('x' * (1 << 19))\n"
                         "import time\ntime.sleep(20)");
  CHECK(body["outcome"] == "disk");
  CHECK(body["rule"] == "quota.workspace_bytes");
  CHECK_FALSE(body["remedy"].get<std::string>().empty());
}

TEST_CASE("an image that the program wrote is in the answer", "[execution]") {
  JailScene scene;
  const mcp::ToolResult result =
      scene.execute({{"code", "open('plot.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\nrest')"}});
  REQUIRE(result.content.size() >= 2);
  const auto* image = std::get_if<mcp::Image>(&result.content[1]);
  REQUIRE(image);
  CHECK(image->mime_type == "image/png");
  CHECK(from_base64(image->base64).value().ends_with("rest"));
}

TEST_CASE("files that .gitignore leaves out are counted, unless the program wrote .gitignore itself", "[execution]") {
  JailScene scene;
  runs_test::put(scene.workspace() / ".gitignore", "*.log\n");
  next_file_time();
  Json body = run_python(scene, "for name in ('a.log', 'b.txt'): open(name, 'w').write('x')");
  CHECK(body["files"] == Json{{"created", {"b.txt"}}, {"ignored", 1}});
  body = run_python(scene, "open('.gitignore', 'w').write('*')\nopen('hidden.txt', 'w').write('x')");
  CHECK(body["files"]["created"] == Json({"hidden.txt"}));
  CHECK_FALSE(body["files"].contains("ignored"));
}

TEST_CASE("a name of an earlier program is explained, and so is a null result", "[execution]") {
  JailScene scene;
  Json first = run_python(scene, "table = [1, 2]");
  CHECK_THAT(notes_of(first), Contains("assigning to `table`"));
  Json second = run_python(scene, "len(table)");
  CHECK_THAT(second["error"].get<std::string>(), Contains(first["execution_id"].get<std::string>()));
  CHECK_THAT(second["error"].get<std::string>(), Contains("`session`"));
}

TEST_CASE("a shell program that says no has the outcome exit, and is an error only by the policy", "[execution]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.shell_exit_1 = policies::ShellExit1::answer; });
  const Json grep = {{"code", "echo a | grep b"}, {"language", "shell"}};
  CHECK_FALSE(scene.execute(grep).is_error);
  scene.change_policy([](policies::Policy& policy) { policy.shell_exit_1 = policies::ShellExit1::error; });
  const mcp::ToolResult result = scene.execute(grep);
  CHECK(result.is_error);
  CHECK(body_of(result)["exit_status"] == 1);
}

TEST_CASE("the receipt is in the answer if the request or the policy asks for it", "[execution]") {
  JailScene scene;
  const Json code = {{"code", "1"}};
  CHECK_FALSE(scene.execute(code).meta.contains(runs::kReceiptKey));
  const mcp::ToolResult tool_result = scene.execute(code, {{runs::kReceiptKey, true}});
  REQUIRE(tool_result.meta.contains(runs::kReceiptKey));
  CHECK(Json::parse(tool_result.meta.at(runs::kReceiptKey))["no_new_privileges"] == true);
  CHECK(body_of(tool_result)["usage"].contains("wall_ms"));
  scene.change_policy([](policies::Policy& policy) { policy.receipt = policies::ReceiptDelivery::answer; });
  CHECK(scene.execute(code).meta.contains(runs::kReceiptKey));
}

TEST_CASE("a session keeps its variables, tells its calls, and ends by a reset", "[execution]") {
  JailScene scene;
  Json body = run_python(scene, "x = 41", {{"session", "s"}});
  CHECK(body["session"]["name"] == "s");
  CHECK(body["session"]["call"] == 1);
  body = run_python(scene, "x + 1", {{"session", "s"}});
  CHECK(body["result"] == 42);
  CHECK(body["session"]["call"] == 2);
  Json ended = body_of(scene.execute({{"code", ""}, {"session", "s"}, {"reset_session", true}}));
  CHECK(ended["session"] == Json{{"name", "s"}, {"ended", true}});
  CHECK(scene.sessions.count_of(scene.tenant().account()) == 0);
}

TEST_CASE("the calls of a program reach their handlers, with the program's execution", "[execution]") {
  JailScene scene;
  Json seen;
  std::string caller_id;
  scene.guest_calls.add("load_skill", [&](calls::GuestCaller& caller, Json arguments) -> Task<Result<jail::CallReply>> {
    seen = std::move(arguments);
    caller_id = caller.execution;
    co_return fail(Code::not_found, "no skill of the test");
  });
  Json body = run_python(scene, "from skills import parse_invoice");
  CHECK(body["success"] == false);
  CHECK_THAT(seen.dump(), Contains("parse_invoice"));
  CHECK(caller_id == body["execution_id"]);
}

TEST_CASE("a staged program's files become a proposal, and the workspace stays as it is", "[execution]") {
  if (!mounts_overlays()) return;
  JailScene scene;
  runs_test::put(scene.workspace() / "old.txt", "old\n");
  const mcp::ToolResult result =
      scene.execute({{"code", "open('new.txt', 'w').write('new')\nopen('old.txt', 'w').write('changed\\n')"},
                     {"workspace", "staged"}});
  Json body = body_of(result);
  CAPTURE(body.dump());
  CHECK(body["success"] == true);
  REQUIRE(body.contains("proposal"));
  CHECK(body["proposal"]["state"] == "open");
  CHECK_THAT(body["proposal"]["diff"].get<std::string>(), Contains("+changed"));
  CHECK(body["files"]["created"] == Json({"new.txt"}));
  CHECK(body["files"]["modified"] == Json({"old.txt"}));
  CHECK(runs_test::links_of(result).empty());  // no client can read them in the workspace
  CHECK(runs_test::get(scene.workspace() / "old.txt") == "old\n");
  CHECK_FALSE(std::filesystem::exists(scene.workspace() / "new.txt"));
  CHECK(scene.changed_files.empty());
}

TEST_CASE("a policy that commits by itself commits after a success, and discards after a failure", "[execution]") {
  if (!mounts_overlays()) return;
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) {
    policy.staging.mode = policies::WorkspaceMode::staged;
    policy.staging.commit = policies::CommitBy::automatic;
  });
  CHECK(run_python(scene, "open('a.txt', 'w').write('a')")["proposal"]["state"] == "committed");
  CHECK(runs_test::get(scene.workspace() / "a.txt") == "a");
  CHECK(run_python(scene, "open('b.txt', 'w').write('b')\n1 / 0")["proposal"]["state"] == "discarded");
  CHECK_FALSE(std::filesystem::exists(scene.workspace() / "b.txt"));
}

TEST_CASE("a staged session makes its proposal at its end", "[execution]") {
  if (!mounts_overlays()) return;
  JailScene scene;
  const Json staged = {{"session", "s"}, {"workspace", "staged"}};
  Json body = run_python(scene, "open('one.txt', 'w').write('1')", staged);
  CAPTURE(body.dump());
  CHECK_FALSE(body.contains("proposal"));
  CHECK(body["session"]["staged"]["files"] == 1);
  body = body_of(scene.execute({{"code", ""}, {"session", "s"}, {"reset_session", true}}));
  CHECK(body["proposal"]["state"] == "open");
  CHECK(body["files"]["created"] == Json({"one.txt"}));
}

TEST_CASE("a program without the service of its network says why it had no network", "[execution]") {
  JailScene scene;
  scene.change_policy([](policies::Policy& policy) {
    policy.egress.rules.push_back({.host = "pypi.org", .ports = {443}});
    policy.egress.connections = 1;
    policy.egress.seconds = std::chrono::seconds(10);
    policy.egress.bytes_up = policy.egress.bytes_down = 1 << 20;
  });
  Json body = run_python(scene,
                         "import os, socket, urllib.parse\n"
                         "proxy = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])\n"
                         "link = socket.create_connection((proxy.hostname, proxy.port))\n"
                         "result = len(link.recv(10))");
  CAPTURE(body.dump());
  CHECK_THAT(notes_of(body), Contains("the program had no network"));
  CHECK_THAT(notes_of(body), Contains("built without egress"));
  CHECK_FALSE(body.contains("egress"));
}

TEST_CASE("a background program's answer is its result, and a large value is stored beside it", "[execution]") {
  JailScene scene;
  runs_test::RunsClient client(scene);
  client.call(1, {{"code", "result = 'z' * 600_000"}, {"background", true}, {"timeout_seconds", 60}});
  Json handle = Json::parse(client.result()["content"][0]["text"].get<std::string>());
  client.close();  // the program continues
  const std::string id = handle["execution_id"].get<std::string>();
  const auto match = scene.finish(runs::await_result(scene.loop, {scene.tasks, scene.named, scene.executions},
                                                     scene.tenant(), id, std::chrono::seconds(50)));
  REQUIRE(match);
  REQUIRE(match->state == runs::ExecutionResult::State::ended);
  Json body = Json::parse(match->text);
  CHECK(body["success"] == true);
  CHECK(body["truncated"]["result"]["bytes"] == 600'000);
  CHECK(body["truncated"]["result"]["resource"] == "exec:///" + id + "/value");
}

TEST_CASE("a call with an id of its client runs its program once", "[execution]") {
  JailScene scene;
  const Json meta = {{runs::kExecutionIdKey, "11111111-2222-3333"}};
  const Json arguments = {{"code", "with open('count', 'a') as file: file.write('x')\nresult = 7"}};
  Json first = body_of(scene.execute(arguments, meta));
  CHECK(first["result"] == 7);
  CHECK(body_of(scene.execute(arguments, meta)) == first);
  CHECK(runs_test::get(scene.workspace() / "count") == "x");
}
