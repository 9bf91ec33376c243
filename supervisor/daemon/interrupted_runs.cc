#include "supervisor/daemon/interrupted_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <array>

#include "policies/policy.h"
#include "policies/tenant_id.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/executions/runs/background.h"
#include "supervisor/executions/runs/execute_answer.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/executions/runs/resumed_execution.h"
#include "supervisor/protocol/mcp/task_calls.h"

// The id under which an execution goes on is the same at each start: a daemon that ended before the row of its run had
// the new id may have answered with it already.
std::string InterruptedRuns::successor_of(const std::string& execution) const {
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash;
  const std::string_view key = workflows_.hash_secret();
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(execution.data()),
                     execution.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return fmt::format("e{:02x}", fmt::join(hash.begin(), hash.begin() + 8, ""));
}

std::map<std::string, std::string> InterruptedRuns::adopt(std::vector<std::string> executions) {
  std::map<std::string, std::string> new_ids;
  // Without the annex a program would repeat its steps: the rows stay for a warderd that has it.
  if (is_annex_absent("workflows") && !executions.empty()) {
    log_error("{} interrupted executions of workflows are not started again: this warderd was built without workflows",
              executions.size());
    return new_ids;
  }
  for (std::string& execution : executions) {
    runs_.push_back({execution, successor_of(execution)});
    background_.expect(runs_.back().now);
    new_ids.emplace(std::move(execution), runs_.back().now);
  }
  return new_ids;
}

Result<> InterruptedRuns::serve() {
  for (InterruptedRun& run : std::exchange(runs_, {})) tasks_.spawn(resume_run(std::move(run)));
  return {};
}

Task<std::chrono::seconds> InterruptedRuns::tidy() {
  if (is_annex_absent("workflows") && !is_removal_by_age_paused()) {
    const auto expired = co_await workflows_.expire(retention_now_ms(), {});
    if (!expired) log_warning("workflows that have expired stay: {}", expired.error().what);
  }
  co_return std::chrono::seconds::max();
}

Result<std::shared_ptr<tenants::Member>> InterruptedRuns::readmit(const workflows::StoredRun& run) {
  TRY(runs::StoredCaller caller, runs::read_stored_caller(run.caller));
  const mcp::Principal& principal = caller.principal;
  if (principal.kind() == mcp::Principal::Kind::token) {
    const auto* token = doors_.tokens_in_force().tokens().named(principal.token());
    if (!token || token->is_expired(credentials::rights_now()))
      return fail(Code::denied, fmt::format("token '{}' is not in force any more", principal.token()),
                  "send the program again with another token");
  } else if (!identity_.root && principal.uid() != identity_.uid) {
    return fail(Code::denied, fmt::format("this daemon serves user {} only", identity_.uid));
  }
  // One member for all runs of a client: each member counts as a connection.
  std::shared_ptr<tenants::Member> member = members_[run.caller].lock();
  if (!member || member->revoked) {
    TRY(member, registry_.admit(principal, std::move(caller.unit)));
    members_[run.caller] = member;
  }
  if (member->tenant->account() != tenants::account_of(run.workflow.tenant))
    return fail(Code::denied, fmt::format("{} has another tenant now", principal.displayed()),
                "send the program again");
  const uint32_t max = member->policy->workflows.resume;
  if (run.resumes >= max)
    return fail(Code::exhausted,
                fmt::format("it was started again {} times, and the policy allows {}", run.resumes, max),
                "find out why the daemon ends, then send the program again: its recorded steps are skipped",
                "workflows.resume");
  return member;
}

// The daemon may have ended when the run had its new id, and the execution of that id had not begun: then no task leads
// from that id to the next one.
Task<> InterruptedRuns::end_former(const workflows::StoredRun& run, InterruptedRun ids) {
  if (background_.find_of_tenant(ids.before, run.workflow.tenant)) co_return;
  tasks::NewTask former;
  former.kind = tasks::TaskKind::background;
  former.id = ids.before;
  auto caller = runs::read_stored_caller(run.caller);
  former.owner = {run.workflow.tenant, caller ? caller->principal.name() : std::string()};
  auto it = co_await background_.begin(std::move(former));
  if (it) background_.end(ids.before, tasks::TaskState::completed, runs::interrupted_answer(ids.before, ids.now), true);
}

// The new id is known to clients by now (the answer of the interrupted execution names it), so the run gets an answer
// in any case.
Task<> InterruptedRuns::resume_run(InterruptedRun ids) {
  struct GiveUp {
    tasks::TaskStore& tasks;
    const std::string id;
    ~GiveUp() { tasks.give_up(id); }
  };
  const GiveUp at_the_end{background_, ids.now};
  auto found = co_await workflows_.find_run(ids.before);
  if (!found || !*found) co_return;
  runs::ResumedExecution execution{**std::move(found), nullptr, {}};
  workflows::StoredRun& run = execution.run;
  co_await end_former(run, ids);
  auto arguments = parse_json(run.arguments);
  auto member = readmit(run);
  if (member && homes_) {
    const auto is_home = co_await homes_->wait_for_home(run.workflow.tenant, (*member)->policy);
    if (!is_home) member = tl::unexpected<Error>(is_home.error());
  }
  if (arguments && member) {
    auto counted = co_await workflows_.resume_run(ids.before, ids.now);
    if (counted) {
      run.execution = ids.now;
      run.resumes++;
      log_notice("execution {} of workflow '{}' goes on as {}, started again {} of {} times", ids.before,
                 run.workflow.name, ids.now, run.resumes, (*member)->policy->workflows.resume);
      execution.member = *std::move(member);
      execution.arguments = *std::move(arguments);
      co_await runs::resume_execution(execute_, std::move(execution));
      co_return;
    }
    member = tl::unexpected<Error>(std::move(counted).error());
  }
  const Error why = arguments ? member.error() : arguments.error();
  log_warning("execution {} of workflow '{}' is not started again: {}", ids.before, run.workflow.name, why.what);
  workflows_.end_run(ids.before);
  tasks::NewTask refused;
  refused.kind = tasks::TaskKind::background;
  refused.id = ids.now;
  auto caller = runs::read_stored_caller(run.caller);
  refused.owner = {run.workflow.tenant, caller ? caller->principal.name() : std::string()};
  auto it = co_await background_.begin(std::move(refused));
  if (!it) co_return;
  const mcp::ToolResult answer = runs::make_refusal(ids.now, why);
  background_.end(ids.now, tasks::TaskState::completed, std::get<mcp::Text>(answer.content.front()).text);
}

namespace {

// The tasks of the protocol, and those that the last daemon left.
Result<std::unique_ptr<InterruptedRuns>> open_runs(Loop& loop, Prepared& prepared, ClientDoors& doors,
                                                   tenants::Registry& registry, journal::Journal& journal,
                                                   tasks::TaskStore& tasks, runs::NamedExecutions& named,
                                                   workflows::WorkflowDisk& workflows,
                                                   runs::ExecuteEnvironment& execute, mcp::Server& server,
                                                   WorkspaceHomes* homes) {
  auto interrupted_runs =
      std::make_unique<InterruptedRuns>(loop, prepared.identity, doors, registry, tasks, workflows, execute, homes);
  const std::map<std::string, std::string> resumed = interrupted_runs->adopt(journal.take_runs());
  const size_t interrupted = tasks.load(journal.take_tasks(), [&](const tasks::StoredTask& task) {
    if (task.kind != tasks::TaskKind::background) return mcp::interrupted_result(task.id, server.identity());
    const auto it = resumed.find(task.id);
    return runs::interrupted_answer(task.id, it == resumed.end() ? std::string() : it->second);
  });
  if (interrupted > 0) log_notice("tasks: {} were interrupted when the daemon last ended", interrupted);
  static_cast<void>(named.store.load(journal.take_named(), [](const tasks::StoredTask& stored_task) {
    return runs::interrupted_named(stored_task.id);
  }));
  mcp::TaskRules rules;
  rules.promote_after = prepared.options.promote_after;
  rules.owner_of = [](const mcp::RequestContext& context) {
    return tasks::TaskOwner{tenants::member_of(context).tenant->account(), context.principal.name()};
  };
  server.set_tasks(tasks, std::move(rules));
  return interrupted_runs;
}

}  // namespace

PartEntry interrupted_runs_part() { return part_entry_of("interrupted runs", open_runs); }
