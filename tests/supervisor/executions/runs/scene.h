// RunsScene: the parts of the daemon that a call of execute_code uses: the policies of this project, a registry of
// tenants, a journal in a temporary folder, the stores of tasks and workflows, and one client that calls. Its
// ExecuteEnvironment is made in scene.cc only. IdleHost: a host whose jailer the test plays; the jailer answers no
// order, so no program begins. RunsClient: a client that talks MCP to the tool execute_code.
#pragma once
#include <sys/socket.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "policies/policy.h"
#include "policies/store.h"
#include "supervisor/base/fd_pair.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/protocol/mcp/connection.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/records/journal/task_rows.h"
#include "supervisor/records/journal/workflow_rows.h"
#include "supervisor/tenants/tenant.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/supervisor/protocol/mcp/harness.h"
#include "tests/temp_directory.h"

namespace runs_test {

struct IdleHost {
  Loop loop;
  Fd jailer;
  std::unique_ptr<jail::JailerClient> client;
  std::unique_ptr<jail::Host> host;
  IdleHost();
};

// The JSON object in the text block of an answer. Tests hold it in a variable without `const`: a key that is missing
// is then null, and fails one check; otherwise it would abort the program.
Json body_of(const mcp::ToolResult& result);
// The links of an answer.
std::vector<std::string> links_of(const mcp::ToolResult& result);
void put(const std::filesystem::path& file, std::string_view text);
std::string get(const std::filesystem::path& file);

struct RunsScene {
  TempDirectory temp;
  Loop& loop;
  jail::Host& host;
  policies::Store store;
  std::filesystem::path state;  // the folder of the tenants' folder
  tenants::Registry registry;
  std::unique_ptr<journal::Journal> journal;
  std::unique_ptr<WorkerThread> disk;
  proposals::ProposalStores proposals;
  executions::Admission admission;
  executions::ExecutionRegistry executions;
  executions::RecentCode recent_code;
  calls::Approvals approvals;
  jail::Pool pool;
  executions::Sessions sessions;
  calls::GuestCalls guest_calls;
  discovery::SearchLearning learning;
  privacy::PiiVaults vaults;
  upstream::UpstreamServers upstream;
  std::shared_ptr<const catalog::Catalog> catalog = std::make_shared<const catalog::Catalog>();
  calls::CallEnvironment calls;
  journal::WorkflowRows workflows;
  journal::TaskRows task_rows, named_rows;
  tasks::TaskStore tasks, named;
  std::optional<Error> refusal;            // why no program may begin now
  std::vector<std::string> changed_files;  // that were reported to clients
  runs::ExecuteEnvironment environment;
  std::shared_ptr<tenants::Member> member;  // the client's

  // `state`: of real jails, a folder whose `tenants` their jailer may mount; empty: a temporary folder.
  RunsScene(Loop& on_loop, jail::Host& with_host, const std::filesystem::path& with_state = {});

  // A copy of the client's policy, changed, becomes its policy.
  void change_policy(const std::function<void(policies::Policy&)>& change);
  // A request of the client, without a way to answer before its end.
  std::unique_ptr<mcp::RequestContext> request(Json meta = Json::object());
  tenants::Tenant& tenant() { return *member->tenant; }
  std::filesystem::path workspace() const;
  // The result of a task, within a minute.
  template <class T>
  T finish(Task<T> task) {
    std::optional<T> result;
    auto collect = [](Task<T> work, std::optional<T>& into) -> Task<> {
      T value = co_await std::move(work);
      into.emplace(std::move(value));
    };
    Scope scope(loop);
    scope.spawn(collect(std::move(task), result));
    if (!run_until(
            loop, [&] { return result.has_value(); }, std::chrono::seconds(60)))
      throw std::runtime_error("a task did not end");
    return *std::move(result);
  }
  // The answer of one call of execute_code.
  mcp::ToolResult execute(Json arguments, Json meta = Json::object());
  // The journal's row of an execution of the client's tenant.
  std::optional<journal::JournaledExecution> row_of(const std::string& execution);
};

// A scene whose calls end before a jail.
struct IdleScene : IdleHost, RunsScene {
  IdleScene() : RunsScene(IdleHost::loop, *IdleHost::host) {}
  using RunsScene::host, RunsScene::loop;
};

// StartedCall: a call of the scene's client whose answer is awaited later. Destroying it cancels the call.
class StartedCall {
 public:
  using Begin = std::function<Task<mcp::ToolResult>(mcp::RequestContext& context)>;
  StartedCall(RunsScene& scene, const Begin& begin, Json meta = Json::object());
  bool is_done() const { return result_.has_value(); }
  // Waits for the answer.
  mcp::ToolResult& result();

 private:
  RunsScene& scene_;
  std::unique_ptr<mcp::RequestContext> context_;
  std::optional<mcp::ToolResult> result_;
  Scope scope_;  // last: cancelled first
};

// The client is closed with this object: its calls that are not in the background are cancelled.
class RunsClient {
 public:
  explicit RunsClient(RunsScene& scene);
  // Sends the call `id`.
  void call(int id, Json arguments, Json meta = Json::object());
  // The result of the next answer: {content, isError, ...}.
  Json result();
  void close() { connection_.reset(); }

 private:
  RunsScene& scene_;
  mcp::Server server_;
  std::unique_ptr<mcp::Connection> connection_;
  std::unique_ptr<mcp_test::Client> client_;
};

}  // namespace runs_test
