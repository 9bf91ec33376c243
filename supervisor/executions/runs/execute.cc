#include "supervisor/executions/runs/execute.h"

#include "supervisor/base/random.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/executions/runs/background.h"
#include "supervisor/executions/runs/code_execution.h"
#include "supervisor/executions/runs/execute_request.h"
#include "supervisor/executions/runs/fan_out.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/executions/runs/resumed_execution.h"
#include "supervisor/protocol/mcp/context.h"

namespace runs {
namespace {

executions::ExecutionRecordPtr new_record(const mcp::RequestContext& context, const tenants::Member& member,
                                          std::string id) {
  auto record = std::make_shared<executions::ExecutionRecord>();
  record->id = std::move(id);
  record->tenant = member.tenant->id();
  record->policy = member.policy;
  record->principal = context.principal.name();
  record->uid = context.principal.uid();
  record->pid = context.principal.pid();
  record->requested_ms = journal::now_ms();
  return record;
}

struct EndedExecution {
  Result<mcp::ToolResult> result;
  ProgramRan ran = ProgramRan::no;
};

// The execution gives back its place and its turn before its error is recorded.
Task<EndedExecution> run_execution(ExecuteEnvironment& environment, calls::CallContext caller,
                                   executions::ExecutionRecording& recording,
                                   const executions::ExecutionRecording::Books& books, Json arguments) {
  if (arguments.contains("fork")) {
    FanOut fan_out(environment, std::move(caller), recording, books);
    auto result = co_await fan_out.run(std::move(arguments));
    co_return EndedExecution{std::move(result), fan_out.ran()};
  }
  CodeExecution execution(environment, std::move(caller), recording);
  auto result = co_await execution.run(std::move(arguments));
  co_return EndedExecution{std::move(result), execution.ran()};
}

// On whose behalf an execution runs: in the workspace that the request names, or, where it may run anywhere, in none.
Result<tenants::Requester> requester_for(const ExecuteEnvironment& environment, const mcp::RequestContext& context,
                                         const Json& arguments) {
  CHECKED(tenants::check_run_location(context.meta));
  if (!tenants::may_run_anywhere(context.meta)) return environment.requester_of(context);
  if (context.meta.contains(tenants::kWorkspaceKey))
    return fail(Code::invalid,
                std::string("_meta: ") + tenants::kWorkspaceKey + ": a stateless execution has no workspace",
                std::string("leave out one of it and ") + tenants::kPlaceKey);
  CHECKED(check_stateless_arguments(arguments));
  return environment.stateless_requester_of(context);
}

// One call, from its record to its answer. `execution`: nullptr for a client's call. `named`: nullptr unless the client
// chose the id; it is told whether a program may have begun.
Task<mcp::ToolResult> run_call(ExecuteEnvironment& environment, mcp::RequestContext& context, Json arguments,
                               const ResumedExecution* execution, NamedRun* named) {
  const tenants::Member& member = tenants::member_of(context);
  const executions::ExecutionRecording::Books books{context.loop, environment.executions, environment.journal,
                                                    environment.recent_code, environment.spans};
  std::string id = execution ? execution->run.execution : named ? named->execution : "e" + random_hex(8);
  executions::ExecutionRecording recording(books, read_trace_context(context.meta),
                                           new_record(context, member, std::move(id)));
  executions::ExecutionRecord& record = recording.record();
  std::shared_ptr<const workflows::StoredRun> run;
  std::optional<BackgroundTask> background;
  if (execution || arguments.value("background", false)) {
    run = execution ? std::make_shared<const workflows::StoredRun>(execution->run)
                    : resumable_run(member, record.id, arguments);
    std::function<void()> ended = [] {};
    if (run) ended = [&workflows = environment.workflows, id = record.id] { workflows.end_run(id); };
    const auto is_closing = [&admission = environment.admission] { return admission.is_closed(); };
    background.emplace(environment.tasks, is_closing, std::move(ended), record.id);
  }
  auto requester = requester_for(environment, context, arguments);
  if (!requester && !execution) {
    recording.refuse(requester.error());
    co_return make_refusal({}, requester.error());
  }
  if (requester) record.tenant = requester->tenant->id();
  if (background) {
    const std::string tenant = execution ? execution->run.workflow.tenant : record.tenant.text();
    auto beginning = execution ? background->restart(context.principal, tenant) : background->begin(context, tenant);
    auto started = co_await std::move(beginning);
    if (!started) {
      recording.refuse(started.error());
      co_return make_refusal({}, started.error());
    }
    record.background = true;
  }
  if (!requester) {
    recording.refuse(requester.error());
    mcp::ToolResult refused = make_refusal({}, requester.error());
    background->end(refused, record.outcome);
    co_return refused;
  }
  if (tenants::may_run_anywhere(context.meta)) record.policy = requester->policy;
  requester->policy = record.policy;
  requester->trace = recording.trace();
  calls::CallContext caller{*std::move(requester), context, record.id, &record.handle, std::move(run)};
  EndedExecution ended = co_await run_execution(environment, std::move(caller), recording, books, std::move(arguments));
  if (named) named->keeps_answer = ended.result || ended.ran == ProgramRan::maybe || recording.was_started();
  if (ended.result) {
    if (background) background->end(*ended.result, record.outcome);
    co_return *std::move(ended.result);
  }
  const Error& error = ended.result.error();
  recording.refuse(error);
  mcp::ToolResult refused = make_refusal(recording.was_started() ? recording.id() : std::string(), error, ended.ran);
  const bool jailer_exited =
      ended.ran == ProgramRan::no && environment.host.jailer.is_gone();  // and the daemon ends with it
  const bool is_saved = named && named->keeps_answer;                    // asked again, it would be the same answer
  if ((jailer_exited && !is_saved) || (!recording.was_started() && environment.admission.is_closed()))
    refused.meta = mcp::not_run_while_draining().meta;
  if (background) background->end(refused, record.outcome);
  co_return refused;
}

}  // namespace

Task<mcp::ToolResult> execute(ExecuteEnvironment& environment, mcp::RequestContext& context, Json arguments) {
  if (!has_chosen_id(context.meta)) return run_call(environment, context, std::move(arguments), nullptr, nullptr);
  return execute_named(environment, context, std::move(arguments), [&](Json request, NamedRun& named) {
    return run_call(environment, context, std::move(request), nullptr, &named);
  });
}

Task<> resume_execution(ExecuteEnvironment& environment, ResumedExecution execution) {
  const tenants::TenantId id = execution.member->tenant->id();
  mcp::RequestContext context(environment.host.loop, {}, mcp::kNewestModern, {});
  context.principal = execution.member->principal;
  context.user = execution.member;
  const std::string& tenant = execution.run.workflow.tenant;
  if (tenant.size() > id.account.size())
    context.meta = {{tenants::kWorkspaceKey, tenant.substr(id.account.size() + 1)}};
  Json arguments = std::move(execution.arguments);
  co_await run_call(environment, context, std::move(arguments), &execution, nullptr);
}

}  // namespace runs
