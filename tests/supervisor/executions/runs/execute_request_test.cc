// The arguments of execute_code: their meaning under a policy, their limits, and the refusals.
#include "supervisor/executions/runs/execute_request.h"

#include "supervisor/executions/runs/execute_answer.h"
#include "tests/supervisor/executions/runs/scene.h"

using Catch::Matchers::Contains;
using jail::Language;
using policies::WorkspaceMode;
using runs_test::IdleScene;

namespace {

constexpr uint64_t kMiB = 1 << 20;

struct RequestScene : IdleScene {
  RequestScene() {
    change_policy([](policies::Policy& policy) {
      policy.limits.standard.wall = std::chrono::seconds(30);
      policy.limits.maximum.wall = std::chrono::seconds(60);
      policy.limits.standard.memory_bytes = 200 * kMiB;
      policy.limits.maximum.memory_bytes = 400 * kMiB;
      policy.fork = 3;
    });
  }
  Result<runs::ExecuteRequest> read(Json arguments) {
    if (!arguments.contains("code")) arguments["code"] = "1";
    return runs::read_execute_request(tenant(), *member->policy, arguments);
  }
  runs::ExecuteRequest accepted(Json arguments) {
    auto request = read(std::move(arguments));
    INFO((request ? "" : request.error().what));
    REQUIRE(request);
    return *std::move(request);
  }
  Error refused(Json arguments) {
    auto request = read(std::move(arguments));
    REQUIRE_FALSE(request);
    return request.error();
  }
  void set_staging(WorkspaceMode mode, bool choose) {
    change_policy([&](policies::Policy& policy) { policy.staging.mode = mode, policy.staging.choose = choose; });
  }
};

Error error_of(const Result<>& checked) {
  REQUIRE_FALSE(checked);
  return checked.error();
}

}  // namespace

TEST_CASE("a call with code alone gets Python, the policy's standard limits and the tenant's workspace", "[request]") {
  RequestScene scene;
  Json arguments = {{"code", "1 + 1"}};
  auto request = runs::read_execute_request(scene.tenant(), *scene.member->policy, arguments);
  REQUIRE(request);
  const jail::Request& jail = request->jail;
  CHECK(jail.code == "1 + 1");
  CHECK(arguments["code"] == "");  // large code is moved, not copied
  CHECK(jail.spec.language == Language::python);
  CHECK(jail.spec.limits.wall == std::chrono::seconds(30));
  CHECK(jail.spec.limits.memory_bytes == 200 * kMiB);
  CHECK(jail.spec.limits.output_bytes == scene.member->policy->limits.standard.output_bytes);
  CHECK(jail.spec.filter == scene.member->policy->filter);
  CHECK_FALSE(jail.spec.listens);
  CHECK_FALSE(jail.spec.hash_seed);
  CHECK(jail.seccomp_profile == "default");
  CHECK(jail.tenant == scene.tenant().name());
  CHECK(jail.workspace.directory == scene.tenant().workspace().directory());
  CHECK(jail.workspace.access == jail::WorkspaceAccess::direct);
  CHECK(jail.quota == jail::Request::Quota::account);
  CHECK(request->clamped.empty());
  CHECK(request->notes.empty());
}

TEST_CASE("each language is found by its name, and others are refused", "[request]") {
  RequestScene scene;
  for (const Language language : jail::kLanguages) {
    const std::string name(jail::language_name(language));
    CAPTURE(name);
    CHECK(scene.accepted({{"language", name}}).jail.spec.language == language);
  }
  const Error unknown = scene.refused({{"language", "perl"}});
  CHECK(unknown.code == Code::invalid);
  CHECK(unknown.rule == "languages");
  CHECK_THAT(unknown.what, Contains("python, javascript, typescript or shell"));
}

TEST_CASE("a language that the policy does not list is denied", "[request]") {
  RequestScene scene;
  scene.change_policy([](policies::Policy& policy) { policy.languages = {"python"}; });
  CHECK(scene.accepted({}).jail.spec.language == Language::python);
  const Error denied = scene.refused({{"language", "shell"}});
  CHECK(denied.code == Code::denied);
  CHECK(denied.rule == "languages");
  CHECK_THAT(denied.what, Contains("policy 'default' does not allow shell"));
  CHECK_THAT(denied.hint, Contains("use an allowed language"));
}

TEST_CASE("code in a fence of TypeScript runs as TypeScript, but not in a session", "[request]") {
  RequestScene scene;
  const Json fenced = {{"code", "```ts\nconst n: number = 1;\n```"}, {"language", "javascript"}};
  const runs::ExecuteRequest request = scene.accepted(fenced);
  CHECK(request.jail.spec.language == Language::typescript);
  CHECK(request.jail.code.find("```") == std::string::npos);
  REQUIRE_FALSE(request.notes.empty());
  Json in_session = fenced;
  in_session["session"] = "s";
  CHECK(scene.accepted(in_session).jail.spec.language == Language::javascript);
  scene.change_policy([](policies::Policy& policy) { policy.languages = {"javascript"}; });
  CHECK(scene.accepted(fenced).jail.spec.language == Language::javascript);
}

TEST_CASE("timeout_seconds becomes the wall time, within the policy", "[request]") {
  RequestScene scene;
  CHECK(scene.accepted({{"timeout_seconds", 1.5}}).jail.spec.limits.wall == std::chrono::milliseconds(1500));
  CHECK(scene.accepted({{"timeout_seconds", 60}}).clamped.empty());
  const runs::ExecuteRequest request = scene.accepted({{"timeout_seconds", 61}});
  CHECK(request.jail.spec.limits.wall == std::chrono::seconds(60));
  CHECK(request.jail.spec.at_ceiling.wall);
  CHECK_FALSE(request.jail.spec.at_ceiling.memory);
  REQUIRE(request.clamped.size() == 1);
  CHECK(request.clamped[0].name == "wall_ms");
  CHECK(request.clamped[0].requested == "61 s");
  CHECK(request.clamped[0].given == "60 s");
  const runs::ExecuteRequest least = scene.accepted({{"timeout_seconds", 0.0001}});
  CHECK(least.jail.spec.limits.wall == policies::kMinWall);
  CHECK(least.clamped.size() == 1);
}

TEST_CASE("memory_mb becomes the limit of memory, within the policy", "[request]") {
  RequestScene scene;
  CHECK(scene.accepted({{"memory_mb", 300.5}}).jail.spec.limits.memory_bytes == 300 * kMiB + kMiB / 2);
  const runs::ExecuteRequest request = scene.accepted({{"memory_mb", 1024}, {"timeout_seconds", 100}});
  CHECK(request.jail.spec.limits.memory_bytes == 400 * kMiB);
  CHECK(request.jail.spec.displayed.memory_bytes == 400 * kMiB);
  CHECK(request.jail.spec.at_ceiling.memory);
  CHECK(runs::clamped_json(request.clamped) == Json::parse(R"([{"name": "wall_ms", "asked": "100 s", "given": "60 s"},
                        {"name": "memory_bytes", "asked": "1 GiB", "given": "400 MiB"}])"));
  const runs::ExecuteRequest least = scene.accepted({{"memory_mb", 1}});
  CHECK(least.jail.spec.limits.memory_bytes == policies::kMinMemoryBytes);
  CHECK(least.clamped.size() == 1);
}

TEST_CASE("the workspace is the policy's, unless the call may choose", "[request]") {
  RequestScene scene;
  const auto access = [&](Json arguments) { return scene.accepted(std::move(arguments)).jail.workspace.access; };
  using Access = jail::WorkspaceAccess;
  scene.set_staging(WorkspaceMode::direct, true);
  CHECK(access({}) == Access::direct);
  CHECK(access({{"workspace", "direct"}}) == Access::direct);
  CHECK(access({{"workspace", "staged"}}) == Access::staged);
  scene.set_staging(WorkspaceMode::staged, false);
  CHECK(access({}) == Access::staged);
  CHECK(access({{"workspace", "staged"}}) == Access::staged);
  scene.set_staging(WorkspaceMode::read_only, true);
  CHECK(access({}) == Access::read_only);
}

TEST_CASE("a workspace that the policy does not give is denied, with the way out", "[request]") {
  RequestScene scene;
  const auto [mode, choose, requested] = GENERATE(table<WorkspaceMode, bool, std::string>({
      {WorkspaceMode::direct, false, "staged"},
      {WorkspaceMode::read_only, true, "staged"},
      {WorkspaceMode::read_only, true, "direct"},
      {WorkspaceMode::staged, true, "direct"},
  }));
  scene.set_staging(mode, choose);
  const Error denied = scene.refused({{"workspace", requested}});
  CHECK(denied.code == Code::denied);
  CHECK(denied.rule == "workspace.mode");
  CHECK_THAT(denied.what, Contains("does not give programs a " + requested + " workspace"));
  CHECK_THAT(denied.hint, Contains("leave `workspace` out"));
}

TEST_CASE("an egress policy gives the jail a listener and the variables of its proxy", "[request]") {
  RequestScene scene;
  scene.change_policy([](policies::Policy& policy) {
    policy.environment = {{"STAGE", "test"}};
    policy.egress.rules.push_back({.host = "pypi.org", .ports = {443}});
  });
  const runs::ExecuteRequest request = scene.accepted({});
  CHECK(request.jail.spec.listens);
  CHECK(request.jail.spec.environment.at("STAGE") == "test");
  CHECK(request.jail.spec.environment.size() > 1);
}

TEST_CASE("a kernel that holds the quota holds the program, too", "[request]") {
  RequestScene scene;
  scene.tenant().set_held_by_kernel({kMiB, 100});
  CHECK(scene.accepted({}).jail.quota == jail::Request::Quota::project);
}

TEST_CASE("code that says that it is in another language is refused before a jail", "[request]") {
  RequestScene scene;
  const Error wrong = scene.refused({{"code", "```python\nprint(1)\n```"}, {"language", "shell"}});
  CHECK(wrong.code == Code::invalid);
  CHECK_FALSE(wrong.hint.empty());
}

TEST_CASE("only Python that uses a workflow outside of a session gets the tenant's seed of hashes", "[request]") {
  RequestScene scene;
  const auto seed_of = [&](const Json& arguments) {
    runs::ExecuteRequest request = scene.accepted(arguments);
    runs::set_hash_seed(request, arguments, scene.workflows);
    return request.jail.spec.hash_seed;
  };
  const std::string code = "from warder import workflow";
  const auto seed = seed_of({{"code", code}});
  REQUIRE(seed);
  CHECK(*seed == workflows::hash_seed(scene.workflows, scene.tenant().name()));
  CHECK(*seed != workflows::hash_seed(scene.workflows, "other"));
  CHECK_FALSE(seed_of({{"code", "print(1)"}}));
  CHECK_FALSE(seed_of({{"code", code}, {"session", "s"}}));
  CHECK_FALSE(seed_of({{"code", "workflow"}, {"language", "javascript"}}));
}

TEST_CASE("a session has a good name, and a language that keeps variables", "[request]") {
  CHECK(runs::check_session_arguments({{"code", "1"}}));
  CHECK(runs::check_session_arguments({{"reset_session", false}}));
  CHECK(runs::check_session_arguments({{"session", "s.1-a_B"}, {"reset_session", true}}));
  CHECK(runs::check_session_arguments({{"session", "s"}, {"language", "typescript"}}));
  const Error unnamed = error_of(runs::check_session_arguments({{"reset_session", true}}));
  CHECK(unnamed.code == Code::invalid);
  CHECK_THAT(unnamed.what, Contains("no session is named"));
  const Error shell = error_of(runs::check_session_arguments({{"session", "s"}, {"language", "shell"}}));
  CHECK(shell.rule == "session");
  CHECK_THAT(shell.hint, Contains("workspace files"));
  for (const char* name : {"", ".s", "a/b", "a b"}) {
    CAPTURE(name);
    CHECK(error_of(runs::check_session_arguments({{"session", name}})).code == Code::invalid);
  }
  CHECK_FALSE(runs::check_session_arguments({{"session", std::string(65, 's')}}));
}

TEST_CASE("an empty program with reset_session only ends the session", "[request]") {
  jail::Request request;
  CHECK(runs::only_ends_session(request, {{"reset_session", true}}));
  CHECK_FALSE(runs::only_ends_session(request, {{"reset_session", false}}));
  CHECK_FALSE(runs::only_ends_session(request, Json::object()));
  request.code = "1";
  CHECK_FALSE(runs::only_ends_session(request, {{"reset_session", true}}));
}

TEST_CASE("a stateless execution has no session, no background and no proposal", "[request]") {
  CHECK(runs::check_stateless_arguments({{"code", "1"}, {"background", false}}));
  for (const Json& extra : {Json{{"session", "s"}}, Json{{"background", true}}, Json{{"workspace", "staged"}}}) {
    const std::string name = extra.begin().key();
    CAPTURE(name);
    const Error refused = error_of(runs::check_stateless_arguments(extra));
    CHECK(refused.code == Code::invalid);
    CHECK(refused.rule == name);
    CHECK_THAT(refused.hint, Contains("leave `" + name + "` out"));
  }
}

TEST_CASE("a list of items is bounded by the policy", "[request]") {
  RequestScene scene;
  const auto check = [&](Json arguments) { return runs::check_fork_arguments(*scene.member->policy, arguments); };
  CHECK(check({{"fork", {1, 2, 3}}, {"context_vars", {{"items", 1}}}}));
  CHECK_THAT(error_of(check({{"fork", Json::array()}})).what, Contains("no item"));
  const Error many = error_of(check({{"fork", {1, 2, 3, 4}}}));
  CHECK(many.code == Code::invalid);
  CHECK(many.rule == "admission.fork");
  CHECK_THAT(many.what, Contains("4 items are more than 3"));
  CHECK_THAT(error_of(check({{"fork", {1}}, {"context_vars", {{"item", 1}}}})).what, Contains("`item`"));
  scene.change_policy([](policies::Policy& policy) { policy.fork = 0; });
  const Error off = error_of(check({{"fork", {1}}}));
  CHECK(off.code == Code::denied);
  CHECK_THAT(off.hint, Contains("call once for each item"));
}

TEST_CASE("branches share the values of a Python session that continues", "[request]") {
  RequestScene scene;
  const auto check = [&](Json more) {
    more["fork"] = {1};
    more["session"] = "s";
    return runs::check_fork_arguments(*scene.member->policy, more);
  };
  CHECK(check({{"language", "python"}}));
  CHECK_THAT(error_of(check({{"reset_session", true}})).what, Contains("a new one has none"));
  CHECK_THAT(error_of(check({{"language", "javascript"}})).what, Contains("only a Python session"));
  CHECK_THAT(error_of(check({{"language", "shell"}})).what, Contains("shell keeps no variables"));
}
