// Operations as both audiences reach them, without a daemon: agents through the MCP server, jailed code through the
// guest calls. Both are registered once and must get the same.
#include "supervisor/tools/operation.h"

#include <fcntl.h>

#include <algorithm>

#include "policies/policy.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog/catalog_tools.h"
#include "supervisor/tools/execution/session_calls.h"
#include "supervisor/tools/pii/pii_tools.h"
#include "supervisor/tools/workspace/resource_changes.h"
#include "supervisor/tools/workspace/workspace_tools.h"
#include "tests/catalog/library.h"
#include "tests/supervisor/tenants/scene.h"

namespace {

const Error kDenied{Code::denied, 0, "no", "ask for it", "pii.restore"};

struct Audiences {
  TempDirectory temp;
  Loop loop;
  Work work{loop};
  mcp::Server server{loop, {}};
  calls::GuestCalls guest_calls{work};
  std::shared_ptr<policies::Policy> policy = std::make_shared<policies::Policy>();
  std::shared_ptr<tenants::Tenant> tenant;
  bool is_refused = false;  // the workspace that the request names
  tools::OperationRegistry registry{server, guest_calls,
                                    [this](const mcp::RequestContext&) -> Result<tenants::Requester> {
                                      if (is_refused) return tl::unexpected<Error>(kDenied);
                                      return tenants::Requester{tenant, policy, {}, {}};
                                    }};

  Audiences() {
    policy->quota = {4 << 20, 200, 10, 1 << 20};
    const Fd state = open_directory(temp.path().string()).value();
    tenant = tenants::Tenant::open(loop, state.get(), "acme", *policy).value();
  }

  std::optional<Json> answer(mcp::Method method, Json params) {
    mcp::RequestContext context(loop, {"1"}, mcp::Version::v2025_06_18, nullptr);
    auto members = wait_for(loop, server.answer(method, context, std::move(params), 1 << 20));
    if (!members) return std::nullopt;
    return Json::parse("{" + *members + "}");
  }
  // The structured content that an agent gets; nullopt: agents have no tool of that name.
  std::optional<Json> agent(const std::string& name, Json arguments = Json::object()) {
    const auto result = answer(mcp::Method::tools_call, {{"name", name}, {"arguments", std::move(arguments)}});
    if (!result) return std::nullopt;
    const Json& structured = result->at("structuredContent");
    CHECK(result->value("isError", false) == !structured.value("success", true));
    CHECK(Json::parse(result->at("content").at(0).at("text").get<std::string>()) == structured);
    return structured;
  }
  Result<Json> code(const std::string& name, Json arguments = Json::object(), std::string session = {}) {
    mcp::RequestContext client(loop, {"1"}, mcp::Version::v2025_06_18, nullptr);
    calls::GuestCaller caller{{{tenant, policy, {}, {}}, client, "e1"}, session};
    auto reply = wait_for(loop, guest_calls.call(caller, name, std::move(arguments)));
    if (!reply) return tl::unexpected<Error>(std::move(reply).error());
    return std::move(reply->value);
  }
  bool code_has(const std::string& name) {
    const auto reply = code(name);
    return reply || reply.error().what.find("no call is named") == std::string::npos;
  }
};

mcp::ToolDefinition named(std::string name) {
  mcp::ToolDefinition definition;
  definition.name = std::move(name);
  return definition;
}

// The discovery tools over a catalogue of one server.
struct DiscoveryAudiences : Audiences {
  Library library;
  discovery::SearchLearning learning;
  TempDirectory folder;
  std::unique_ptr<discovery::StubTree> tree;

  DiscoveryAudiences() {
    Json issues = {{"name", "create_issue"}, {"description", "Opens an issue"}};
    Json peers = {{"name", "close_issue"}, {"description", "Closes an issue"}};
    library.put("code/github.json", Json{{"tools", Json::array({issues, peers})}});
    library.put("code/gitlab.json", Json{{"tools", Json::array({peers})}});
    library.load();
    Fd top(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    tree = discovery::StubTree::start(loop, std::move(top)).value();
    const auto no_skills = [](std::shared_ptr<tenants::Tenant>) -> Task<Result<skills::Library>> {
      co_return fail(Code::not_found, "none");
    };
    tools::add_catalog_tools(
        registry, [this] { return library.produced; }, no_skills, learning, *tree, work);
  }
};

}  // namespace

TEST_CASE("both audiences get the value of an operation", "[operations]") {
  Audiences audiences;
  audiences.registry.add(
      tools::shared_operation(named("count"), [&](const tenants::Requester& requester, Json arguments) {
        CHECK(requester.tenant.get() == audiences.tenant.get());
        CHECK(requester.policy.get() == audiences.policy.get());
        return tools::ready<Result<Json>>(Json{{"items", arguments["items"].size()}});
      }));
  const Json arguments = {{"items", {1, 2, 3}}};
  CHECK(audiences.agent("count", arguments).value() == Json{{"items", 3}});
  CHECK(audiences.code("count", arguments).value() == Json{{"items", 3}});
}

TEST_CASE("both audiences get the code, message, remedy and rule of an error", "[operations]") {
  Audiences audiences;
  const Code code =
      GENERATE(Code::invalid, Code::not_found, Code::denied, Code::exhausted, Code::unavailable, Code::internal);
  const bool full = GENERATE(true, false);
  CAPTURE(code_name(code), full);
  const Error error{code, 0, "it failed", full ? "do less" : "", full ? "limits.cpus" : ""};
  audiences.registry.add(tools::shared_operation(named("fails"), [&](const tenants::Requester&, Json) {
    return tools::ready<Result<Json>>(tl::unexpected<Error>(error));
  }));
  Json expected = {{"success", false}, {"error", "it failed"}, {"code", code_name(code)}};
  if (full) expected.update(Json{{"rule", "limits.cpus"}, {"remedy", "do less"}});
  CHECK(audiences.agent("fails").value().dump() == expected.dump());
  const auto refused = audiences.code("fails");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == code);
  CHECK(refused.error().what == error.what);
  CHECK(refused.error().hint == error.hint);
  CHECK(refused.error().rule == error.rule);
}

TEST_CASE("an operation is offered to its audience only", "[operations]") {
  Audiences audiences;
  const auto work = [](const tenants::Requester&, Json) { return tools::ready<Result<Json>>(Json{{"done", true}}); };
  audiences.registry.add(tools::agent_operation(named("for_agents"), work));
  audiences.registry.add(tools::code_operation("for_code", work));
  CHECK(audiences.agent("for_agents"));
  CHECK_FALSE(audiences.code_has("for_agents"));
  CHECK_FALSE(audiences.agent("for_code"));
  CHECK(audiences.code("for_code").value()["done"] == true);
}

TEST_CASE("a request that names a refused workspace runs no operation", "[operations]") {
  DiscoveryAudiences audiences;
  audiences.registry.add(tools::agent_operation(named("never"), [](const tenants::Requester&, Json) {
    FAIL("it ran");
    return tools::ready<Result<Json>>(Json());
  }));
  audiences.is_refused = true;
  const Json refused = audiences.agent("never").value();
  CHECK(refused["error"] == "no");
  CHECK(refused["rule"] == "pii.restore");
  CHECK(audiences.agent("list_tool_categories").value()["total_tools"] == 3);  // needs no workspace
}

TEST_CASE("tools are listed in the order of their registration, and code has calls of its own", "[operations]") {
  DiscoveryAudiences audiences;
  tools::ResourceChanges changes(audiences.loop, audiences.server);
  tasks::MemoryTaskDisk task_disk;
  tasks::TaskStore task_store(audiences.loop, task_disk);
  executions::ExecutionRegistry executions(audiences.loop);
  const auto journal = journal::Journal::open(audiences.loop, audiences.temp.path().string(), {}).value();
  privacy::PiiVaults vaults(audiences.loop);
  tools::add_workspace_tools(audiences.registry, changes, {task_store, task_store, executions}, *journal, nullptr);
  tools::add_pii_tools(audiences.registry, vaults, audiences.work);
  tools::add_session_calls(audiences.guest_calls);
  Names listed;
  const Json list = audiences.answer(mcp::Method::tools_list, Json::object()).value();
  for (const Json& tool : list.at("tools")) listed.push_back(tool.at("name").get<std::string>());
  CHECK(listed == Names{"search_tools", "get_tool_definition", "list_tool_categories", "write_workspace_file",
                        "read_workspace_file", "list_workspace_files", "delete_workspace_file", "sanitize_pii",
                        "restore_pii"});
  for (const char* name : {"search_tools", "get_tool_definition", "list_tools", "nearest_tools", "stub_file",
                           "tokenize_pii", "detokenize_pii", "checkpoint", "session_log", "read_workspace_file"}) {
    CAPTURE(name);
    CHECK(audiences.code_has(name));
  }
  for (const char* name : {"list_tool_categories", "write_workspace_file", "sanitize_pii", "restore_pii"}) {
    CAPTURE(name);
    CHECK_FALSE(audiences.code_has(name));
  }
}

TEST_CASE("agents and code get the same definition, and agents hear what they may have meant", "[operations]") {
  DiscoveryAudiences audiences;
  const Json entry = {{"tool_name", "create_issue"}};
  CHECK(audiences.agent("get_tool_definition", entry).value() == audiences.code("get_tool_definition", entry).value());

  const auto [name, code, more] = GENERATE(table<const char*, Code, const char*>(
      {{"create_isue", Code::not_found, "nearest"}, {"close_issue", Code::invalid, "candidates"}}));
  const Json wrong = {{"tool_name", name}};
  const Json report = audiences.agent("get_tool_definition", wrong).value();
  const auto refused = audiences.code("get_tool_definition", wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == code);
  Names keys;
  for (const auto& [key, value] : report.items()) keys.push_back(key);
  CHECK(keys == Names{"success", "error", "code", "remedy", more});
  CHECK(report["code"] == std::string(code_name(refused.error().code)));
  CHECK(report["error"] == refused.error().what);
  CHECK(report["remedy"] == refused.error().hint);
  CHECK(report[more][0]["name"] == (code == Code::not_found ? "create_issue" : "close_issue"));
}

TEST_CASE("a tool chosen after a search is learned from both audiences", "[operations]") {
  DiscoveryAudiences audiences;
  const Json query = {{"query", "open a ticket about an issue"}}, tool = {{"tool_name", "create_issue"}};
  const bool by_agent = GENERATE(true, false);
  CHECK_FALSE(audiences.learning.of("acme", policies::LearningScope::tenant));
  if (by_agent) {
    CHECK(audiences.agent("search_tools", query));
    CHECK(audiences.agent("get_tool_definition", tool));
  } else {
    CHECK(audiences.code("search_tools", query));
    CHECK(audiences.code("get_tool_definition", tool));
  }
  CHECK(audiences.learning.of("acme", policies::LearningScope::tenant));
}

TEST_CASE("code gets the names of tools, and the nearest of an unknown one", "[operations]") {
  DiscoveryAudiences audiences;
  Names names = audiences.code("list_tools").value().get<Names>();
  std::sort(names.begin(), names.end());
  CHECK(names == Names{"github__close_issue", "github__create_issue", "gitlab__close_issue"});
  CHECK(audiences.code("list_tools", {{"x", 1}}).error().code == Code::invalid);
  const Json near = audiences.code("nearest_tools", {{"server", "githb"}, {"tool", "create_isue"}}).value();
  CHECK(near["server"] == "github");
  CHECK(near["tools"][0]["name"] == "create_issue");
  CHECK(audiences.code("nearest_tools").error().code == Code::invalid);
}

TEST_CASE("personal data is restored for each audience under its own rule", "[operations]") {
  Audiences audiences;
  privacy::PiiVaults vaults(audiences.loop);
  tools::add_pii_tools(audiences.registry, vaults, audiences.work);
  audiences.policy->pii.restore = policies::PiiRules::Restore::code;
  const std::string token = audiences.agent("sanitize_pii", {{"text", "a@b.co"}}).value()["sanitized_text"];
  CHECK(audiences.code("detokenize_pii", {{"text", token}}).value()["text"] == "a@b.co");
  CHECK(audiences.agent("restore_pii", {{"text", token}}).value()["rule"] == "pii.restore");
  audiences.policy->pii.restore = policies::PiiRules::Restore::no_user;
  CHECK(audiences.code("detokenize_pii", {{"text", token}}).error().rule == "pii.restore");
}

TEST_CASE("an error of a guest call about a session keeps its remedy", "[operations]") {
  Audiences audiences;
  tools::add_session_calls(audiences.guest_calls);
  const auto refused = audiences.code("checkpoint", {{"step", 1}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().hint == "call execute_code with a `session`");
  REQUIRE(audiences.tenant->sessions().begin("s1", "2026-11-21T12:34:56Z"));
  CHECK(audiences.code("checkpoint", {{"step", 1}}, "s1").value()["step"] == 1);
  CHECK(audiences.code("session_log", Json::object(), "s1").value().is_object());
}

TEST_CASE("a written file is found by its tenant's next call", "[operations]") {
  Audiences audiences;
  tools::ResourceChanges changes(audiences.loop, audiences.server);
  tasks::MemoryTaskDisk task_disk;
  tasks::TaskStore task_store(audiences.loop, task_disk);
  executions::ExecutionRegistry executions(audiences.loop);
  const auto journal = journal::Journal::open(audiences.loop, audiences.temp.path().string(), {}).value();
  tools::add_workspace_tools(audiences.registry, changes, {task_store, task_store, executions}, *journal, nullptr);
  CHECK(audiences.agent("write_workspace_file", {{"filename", "a"}, {"content", "x"}}).value()["size"] == 1);
  CHECK(audiences.agent("list_workspace_files").value()["files"] == Json{"a"});
  CHECK(audiences.agent("read_workspace_file", {{"filename", "b"}}).value()["code"] == "not_found");
  CHECK(audiences.agent("delete_workspace_file", {{"filename", "a"}}).value()["success"] == true);
}
