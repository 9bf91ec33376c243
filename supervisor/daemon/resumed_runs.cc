// Background executions of workflows that the last daemon's end interrupted: they are started again, as often as their
// policy allows, and only if their client would be admitted today, with the same tenant.
#include <fmt/format.h>

#include "supervisor/base/json.h"
#include "supervisor/base/log.h"
#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/tenants/tenant_id.h"
#include "supervisor/tools/execution/execute_answer.h"
#include "supervisor/tools/execution/resumed_execution.h"

namespace {

constexpr std::chrono::seconds kHomePatience{60};  // for a lease of the cluster, after the start

}  // namespace

Result<std::shared_ptr<tenants::Member>> DaemonParts::admit_again(const workflows::StoredRun& run) {
  TRY(tools::StoredCaller caller, tools::read_stored_caller(run.caller));
  const mcp::Principal& principal = caller.principal;
  if (principal.kind() == mcp::Principal::Kind::token) {
    const auto* token = tokens_in_force_->tokens().named(principal.token());
    if (!token || token->is_expired(credentials::wall_now()))
      return fail(Code::denied, fmt::format("token '{}' is not in force any more", principal.token()),
                  "send the program again with another token");
  } else if (!prepared_.identity.root && principal.uid() != prepared_.identity.uid) {
    return fail(Code::denied, fmt::format("this daemon serves user {} only", prepared_.identity.uid));
  }
  // One member for all runs of a client: each member counts as a connection.
  std::shared_ptr<tenants::Member> member = resumed_members_[run.caller].lock();
  if (!member || member->revoked) {
    TRY(member, registry_.admit(principal, std::move(caller.unit)));
    resumed_members_[run.caller] = member;
  }
  if (member->tenant->account() != tenants::account_of(run.workflow.tenant))
    return fail(Code::denied, fmt::format("{} has another tenant now", principal.shown()), "send the program again");
  const uint32_t most = member->policy->workflows.resume;
  if (run.resumes >= most)
    return fail(Code::exhausted,
                fmt::format("it was started again {} times, and the policy allows {}", run.resumes, most),
                "find out why the daemon ends, then send the program again: its recorded steps are skipped",
                "workflows.resume");
  return member;
}

// Returns when this node may run programs of the workspace: at once, unless nodes of a cluster share it. Errors:
// unavailable: another node is its home, or this node got no lease in time.
Task<Result<>> DaemonParts::wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy) {
  if (!policy->cluster.is_home_shared || !cluster_) co_return Result<>{};
  CO_TRY(const tenants::TenantId id, tenants::TenantId::parse(tenant));
  const auto until = Monotonic::now() + kHomePatience;
  for (;;) {
    const auto home = co_await cluster_->link().home_of(id);
    if (home && !home->is_here) co_return fail(Code::unavailable, "the workspace is at node " + home->node + " now");
    if (home && cluster_->link().may_start() && !cluster_->gate().is_held(id)) co_return Result<>{};
    if (Monotonic::now() > until) co_return fail(Code::unavailable, "this node has no lease of its cluster");
    co_await sleep_for(loop_, std::chrono::seconds(1));
  }
}

// Its id is known to clients by now (the answer of the interrupted execution names it), so it gets an answer in any
// case.
Task<> DaemonParts::resume_run(InterruptedRun ids) {
  auto found = co_await workflows_.disk().find_run(ids.before);
  if (!found || !*found) co_return;
  tools::ResumedExecution again{**std::move(found), nullptr, {}};
  workflows::StoredRun& run = again.run;
  auto arguments = parse_json(run.arguments);
  auto member = admit_again(run);
  if (member) {
    const auto is_home = co_await wait_for_home(run.workflow.tenant, (*member)->policy);
    if (!is_home) member = tl::unexpected<Error>(is_home.error());
  }
  if (arguments && member) {
    auto counted = co_await workflows_.disk().resume_run(ids.before, ids.now);
    if (counted) {
      run.execution = ids.now;
      run.resumes++;
      log_notice("execution {} of workflow '{}' goes on as {}, started again {} of {} times", ids.before,
                 run.workflow.name, ids.now, run.resumes, (*member)->policy->workflows.resume);
      again.member = *std::move(member);
      again.arguments = *std::move(arguments);
      co_await tools::resume_execution(execute_, std::move(again));
      co_return;
    }
    member = tl::unexpected<Error>(std::move(counted).error());
  }
  const Error why = arguments ? member.error() : arguments.error();
  log_warning("execution {} of workflow '{}' is not started again: {}", ids.before, run.workflow.name, why.what);
  workflows_.disk().end_run(ids.before);
  tasks::NewTask refused;
  refused.kind = tasks::TaskKind::background;
  refused.id = ids.now;
  auto caller = tools::read_stored_caller(run.caller);
  refused.owner = {run.workflow.tenant, caller ? caller->principal.name() : std::string()};
  auto begun = co_await task_store_.begin(std::move(refused));
  if (!begun) co_return;
  const mcp::ToolResult answer = tools::make_refusal(ids.now, why);
  task_store_.end(ids.now, tasks::TaskState::completed, std::get<mcp::Text>(answer.content.front()).text);
}
