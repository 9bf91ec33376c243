// Registration of all tools, resources, prompts and calls of jailed code, in the order in which clients see them.
#include "supervisor/base/log.h"
#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/executions/runs/background.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/protocol/mcp/task_calls.h"
#include "supervisor/tenants/privacy/pii_response_filter.h"
#include "supervisor/tools/call_audit.h"
#include "supervisor/tools/catalog/catalog_resources.h"
#include "supervisor/tools/execution/execute_code.h"
#include "supervisor/tools/execution/get_execution_stats.h"
#include "supervisor/tools/execution/layer_question.h"
#include "supervisor/tools/execution/session_calls.h"
#include "supervisor/tools/execution/shown_limits.h"
#include "supervisor/tools/nearest_tool.h"
#include "supervisor/tools/proposals/commit_workspace.h"
#include "supervisor/tools/proposals/proposal_resources.h"
#include "supervisor/tools/skills/skill_resources.h"
#include "supervisor/tools/workflows/step_calls.h"
#include "supervisor/tools/workflows/workflow_resources.h"
#include "supervisor/tools/workspace/workspace_tools.h"

void DaemonParts::register_tools() {
  auto catalog_of = [this] { return discovery_.current(); };
  server_.watch_resources([this](const std::shared_ptr<mcp::ConnectionUser>& user, const Json& meta,
                                 const std::string& uri) -> std::shared_ptr<mcp::ResourceWatch> {
    const auto tenant = registry_.workspace_in(tenants::member_of(user), meta);
    return tenant ? changes_.watch(*tenant, uri) : nullptr;
  });
  auto requester_of = [this](const mcp::RequestContext& context) { return registry_.requester_of(context); };
  server_.set_nearest_tool(tools::nearest_tool);
  tools::add_execute_code(server_, execute_);
  tools::add_session_calls(guest_calls_);
  tools::add_step_calls(guest_calls_, workflows_);
  const tools::OperationRegistry operations(server_, guest_calls_, requester_of);
  operations.add(tools::layer_question([this] { return prepared_.policies.layers(); }));
  tools::add_workspace_tools(operations, changes_, {task_store_, named_, executions_}, journal_, workflows_);
  server_.add_resources(
      tools::workspace_resources(requester_of, journal_, {task_store_, named_, executions_}, recent_code_));
  server_.add_resources(tools::workflow_resources(requester_of, workflows_));
  tools::add_commit_workspace(operations, calls_, proposals_);
  server_.add_resources(tools::proposal_resources(requester_of, proposals_));
  server_.add_completion(tools::workspace_completion(requester_of));
  auto library_of = [this](std::shared_ptr<tenants::Tenant> tenant) { return skills_.library(std::move(tenant)); };
  tools::add_catalog_tools(operations, catalog_of, library_of, learning_, servers_, host_.work);
  tools::add_catalog_resources(server_, catalog_of, requester_of, host_.work);
  tools::add_call_tool(operations, calls_);
  tools::add_get_execution_stats(operations, journal_, catalog_of, library_of, sessions_);
  server_.observe_calls(tools::audit_calls(journal_));
  tools::add_pii_tools(operations, vaults_, host_.work);
  filter_responses(requester_of);
  tools::add_skill_tools(operations, skills_, recent_code_, host_.work);
  tools::add_skill_resources(server_, skills_, host_.work, requester_of);
  choose_tools();
}

// The tasks of the protocol, and those that the last daemon left.
void DaemonParts::adopt_tasks() {
  const std::map<std::string, std::string> resumed = interrupted_runs_.adopt(journal_.take_runs());
  const size_t interrupted = task_store_.load(journal_.take_tasks(), [&](const tasks::StoredTask& task) {
    if (task.kind != tasks::TaskKind::background) return mcp::interrupted_result(task.id, server_.identity());
    const auto again = resumed.find(task.id);
    return runs::interrupted_answer(task.id, again == resumed.end() ? std::string() : again->second);
  });
  if (interrupted > 0) log_notice("tasks: {} were interrupted when the daemon last ended", interrupted);
  static_cast<void>(
      named_.load(journal_.take_named(), [](const tasks::StoredTask& one) { return runs::interrupted_named(one.id); }));
  mcp::TaskRules rules;
  rules.promote_after = prepared_.options.promote_after;
  rules.owner_of = [](const mcp::RequestContext& context) {
    return tasks::TaskOwner{tenants::member_of(context).tenant->account(), context.principal.name()};
  };
  server_.set_tasks(task_store_, std::move(rules));
}

// Which tools a client sees, and their limits in the definitions.
void DaemonParts::choose_tools() {
  using User = std::shared_ptr<mcp::ConnectionUser>;
  server_.set_tool_choice([](const User& user) -> std::function<bool(std::string_view)> {
    const auto policy = tenants::member_of(user).policy;
    const bool hides_commit = !tools::offers_commit(*policy);
    if (policy->tools.every && !hides_commit) return nullptr;
    return [policy, hides_commit](std::string_view name) {
      return policy->tools.offers(name) && !(hides_commit && name == "commit_workspace");
    };
  });
  server_.set_tool_variants([](const User& user) { return tools::shown_limits(*tenants::member_of(user).policy); },
                            tools::show_limits);
}

// Answers to agents hold tokens in the place of personal data.
void DaemonParts::filter_responses(const tenants::RequesterOf& requester_of) {
  auto reader_of = [requester_of](const mcp::RequestContext& context) -> Result<tenants::Requester> {
    if (auto requester = requester_of(context)) return requester;
    // The named workspace was refused: the refusal is filtered, too.
    return tenants::make_requester(context, tenants::member_of(context).tenant);
  };
  server_.set_response_filter(privacy::pii_response_filter(reader_of, vaults_, host_.work));
}
