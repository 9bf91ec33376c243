#include "tests/supervisor/executions/runs/scene.h"

#include <fstream>
#include <sstream>

#include "policies/store.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/executions/runs/execute.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace fs = std::filesystem;

namespace runs_test {
namespace {

// One for each scene, so that no scene finds the tenant of an earlier one.
uid_t next_uid() {
  static uid_t last = 20'000;
  return ++last;
}

// The filters of the policies are compiled once for the program.
const policies::Store& standard_store() {
  static const policies::Store store = policies::Store::load({WARDER_POLICIES}, policies::Mode::checkout).value();
  return store;
}

fs::path produced(const fs::path& folder) {
  fs::create_directories(folder);
  return folder;
}

upstream::UpstreamServers::Settings no_servers() {
  upstream::UpstreamServers::Settings settings;
  settings.no_user.policy = standard_store().standard();
  return settings;
}

}  // namespace

IdleHost::IdleHost() {
  FdPair pair = make_sockets(SOCK_SEQPACKET, Code::internal).value();
  jailer = std::move(pair.theirs);
  client = jail::JailerClient::start(loop, std::move(pair.ours), [] {}).value();
  host.reset(new jail::Host{loop, *client});
}

Json body_of(const mcp::ToolResult& result) {
  REQUIRE_FALSE(result.content.empty());
  const auto* text = std::get_if<mcp::Text>(&result.content.front());
  REQUIRE(text);
  return Json::parse(text->text);
}

std::vector<std::string> links_of(const mcp::ToolResult& result) {
  std::vector<std::string> links;
  for (const mcp::Block& block : result.content)
    if (const auto* link = std::get_if<mcp::ResourceLink>(&block)) links.push_back(link->uri);
  return links;
}

void put(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

std::string get(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

RunsScene::RunsScene(Loop& on_loop, jail::Host& with_host, const fs::path& with_state)
    : loop(on_loop),
      host(with_host),
      store(standard_store()),
      state(with_state.empty() ? temp.path() : with_state),
      registry(tenants::Registry::open(loop, open_directory(state.string()).value().get(), store).value()),
      journal(journal::Journal::open(loop, produced(temp.path() / "journal").string(), {}).value()),
      disk(WorkerThread::start(loop).value()),
      proposals(loop),
      admission(loop, 100),
      executions(loop),
      approvals(loop),
      pool(host, {}),
      sessions(host, pool, proposals),
      guest_calls(host.work),
      vaults(loop),
      upstream(host, no_servers()),
      calls{.loop = loop,
            .work = host.work,
            .upstream = upstream,
            .journal = *journal,
            .catalog_of = [this] { return catalog; },
            .vaults = vaults,
            .learning = learning,
            .approvals = approvals},
      workflows(*journal),
      task_rows(*journal, journal::TaskTable::tasks),
      named_rows(*journal, journal::TaskTable::named_executions),
      tasks(loop, task_rows),
      named(loop, named_rows, runs::named_limits()),
      environment{.host = host,
                  .admission = admission,
                  .executions = executions,
                  .recent_code = recent_code,
                  .pool = pool,
                  .sessions = sessions,
                  .calls = guest_calls,
                  .upstream_calls = calls,
                  .network = nullptr,
                  .journal = *journal,
                  .tasks = tasks,
                  .named = named,
                  .workflows = workflows,
                  .catalog_of = [this] { return catalog; },
                  .requester_of = [this](const mcp::RequestContext& context) { return registry.requester_of(context); },
                  .stateless_requester_of =
                      [this](const mcp::RequestContext& context) { return registry.stateless_requester(context); },
                  .proposals = proposals,
                  .files_changed =
                      [this](const tenants::Tenant&, const tenants::Changes& changes) {
                        for (const auto* list : {&changes.created, &changes.modified, &changes.deleted})
                          changed_files.insert(changed_files.end(), list->paths.begin(), list->paths.end());
                      },
                  .refusal = [this] { return refusal; }} {
  proposals.on_files_changed(environment.files_changed);
  const uid_t uid = next_uid();
  member = registry.admit(mcp::Principal({1, uid, uid, {}})).value();
  change_policy([](policies::Policy& policy) { policy.pool = {}; });
}

void RunsScene::change_policy(const std::function<void(policies::Policy&)>& change) {
  auto changed = std::make_shared<policies::Policy>(*member->policy);
  change(*changed);
  member->policy = std::move(changed);
  tenant().set_quota(member->policy->quota);
}

std::unique_ptr<mcp::RequestContext> RunsScene::request(Json meta) {
  auto context =
      std::make_unique<mcp::RequestContext>(loop, mcp::RequestId{"1"}, mcp::kNewestModern, mcp::RequestContext::Send());
  context->principal = member->principal;
  context->user = member;
  context->meta = std::move(meta);
  return context;
}

fs::path RunsScene::workspace() const { return state / "tenants" / member->tenant->name() / "workspace"; }

mcp::ToolResult RunsScene::execute(Json arguments, Json meta) {
  const auto context = request(std::move(meta));
  return finish(runs::execute(environment, *context, std::move(arguments)));
}

std::optional<journal::JournaledExecution> RunsScene::row_of(const std::string& execution) {
  return finish(journal->account(tenant().name(), execution)).value();
}

StartedCall::StartedCall(RunsScene& scene, const Begin& begin, Json meta)
    : scene_(scene), context_(scene.request(std::move(meta))), scope_(scene.loop) {
  auto collect = [](Task<mcp::ToolResult> work, std::optional<mcp::ToolResult>& into) -> Task<> {
    mcp::ToolResult result = co_await std::move(work);
    into.emplace(std::move(result));
  };
  scope_.spawn(collect(begin(*context_), result_));
}

mcp::ToolResult& StartedCall::result() {
  run_until(
      scene_.loop, [this] { return is_done(); }, std::chrono::seconds(60));
  REQUIRE(result_);
  return *result_;
}

RunsClient::RunsClient(RunsScene& scene) : scene_(scene), server_(scene.loop, {"test", "1", "", ""}) {
  server_.set_tasks(scene.tasks, {});
  mcp::ToolDefinition tool;
  tool.name = "execute_code";
  tool.description = "For tests.";
  tool.input_schema = {{"type", "object"}};
  tool.queues = true;
  server_.add_tool(std::move(tool), [&scene](mcp::RequestContext& context, Json arguments) {
    return runs::execute(scene.environment, context, std::move(arguments));
  });
  FdPair pair = make_sockets(SOCK_STREAM, Code::internal).value();
  mcp::Connection::Accepted accepted;
  accepted.principal = scene.member->principal;
  accepted.user = scene.member;
  connection_ =
      mcp::Connection::open(scene.loop, server_, std::move(pair.ours), std::move(accepted), {}, [] {}).value();
  client_ = std::make_unique<mcp_test::Client>(scene.loop, std::move(pair.theirs));
}

void RunsClient::call(int id, Json arguments, Json meta) {
  Json params = {{"name", "execute_code"}, {"arguments", std::move(arguments)}, {"_meta", std::move(meta)}};
  client_->send(mcp_test::modern(id, "tools/call", std::move(params)));
}

Json RunsClient::result() { return client_->message()["result"]; }

}  // namespace runs_test
