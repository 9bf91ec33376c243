#include "supervisor/tools/workflows/step_calls.h"

#include <fmt/format.h>

#include "policies/policy.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

using workflows::HeldWorkflow;

constexpr size_t kMaxWorkflows = 16;       // workflows of one execution
constexpr size_t kMaxPartBytes = 4 << 20;  // of a text in one message; a value has its own limit

workflows::WorkflowLimits workflow_limits_of(const policies::Policy& policy) {
  const policies::WorkflowRules& rules = policy.workflows;
  return {rules.max, rules.steps, rules.bytes, rules.keep};
}

void count_in_quota(const calls::GuestCaller& caller, uint64_t bytes) {
  caller.tenant->workspace().set_held(tenants::Holder::workflows, {bytes, 0});
}

Result<HeldWorkflow*> opened_workflow(const calls::GuestCaller& caller, const std::string& name) {
  const auto it = caller.workflows.find(name);
  // This file alone puts workflows there.
  if (it != caller.workflows.end() && it->second) return static_cast<HeldWorkflow*>(it->second.get());
  return fail(Code::invalid, fmt::format("no step of workflow '{}' runs in this execution", printable(name, 64)));
}

// From now on a later daemon starts the execution again, if this one ends before. Failing that it still runs.
Task<> keep_run(workflows::WorkflowStore& store, calls::GuestCaller& caller, workflows::WorkflowId workflow) {
  if (!caller.run || std::exchange(caller.run_is_kept, true)) co_return;
  workflows::StoredRun run = *caller.run;
  run.workflow = std::move(workflow);
  auto saved = co_await store.disk().add_run(std::move(run));
  if (!saved) log_warning("execution {} will not be started again: {}", caller.execution, saved.error().what);
}

Task<Result<HeldWorkflow*>> hold(workflows::WorkflowStore& store, calls::GuestCaller& caller, std::string name) {
  if (auto before = opened_workflow(caller, name)) co_return *before;
  if (caller.is_staged)
    co_return fail(Code::denied,
                   "a workflow cannot run in a staged workspace: its files could be discarded when its "
                   "steps are recorded as finished",
                   "call execute_code with workspace \"direct\"", "workspace.mode");
  if (caller.workflows.size() >= kMaxWorkflows)
    co_return fail(Code::exhausted, fmt::format("this execution uses {} workflows, the most at once", kMaxWorkflows),
                   "use another execution for the next ones");
  const auto [slot, is_first] = caller.workflows.try_emplace(name);
  if (!is_first)
    co_return fail(Code::invalid, fmt::format("a step of workflow '{}' cannot begin: another one is beginning", name),
                   workflows::kOneAfterAnother);
  workflows::WorkflowId id{caller.tenant->name(), name};
  auto got = co_await store.hold(std::move(id), caller.execution, workflow_limits_of(*caller.policy));
  if (!got) {
    caller.workflows.erase(name);
    co_return tl::unexpected<Error>(std::move(got).error());
  }
  HeldWorkflow* workflow = got->get();
  slot->second = *std::move(got);
  count_in_quota(caller, workflow->tenant_bytes());
  co_await keep_run(store, caller, workflow->id());
  co_return workflow;
}

Result<workflows::StepInputs> read_inputs(Fields& in) {
  const Json* inputs = in.find("inputs");
  TRY(std::string digest, in.string_or("digest", "", 32));
  if (!inputs) return workflows::StepInputs();
  return workflows::StepInputs::of(*inputs, std::move(digest));
}

Task<Result<jail::CallReply>> begin_step(workflows::WorkflowStore& store, calls::GuestCaller& caller, Json arguments) {
  Fields in(arguments, "step");
  CO_TRY(std::string name, in.string("workflow", 256));
  CO_TRY(std::string step, in.string("step", 4096));
  CO_TRY(const int64_t position, in.integer("position", 0, UINT32_MAX));
  CO_TRY(workflows::StepInputs inputs, read_inputs(in));
  CO_CHECKED(in.done());
  CO_CHECKED(workflows::check_workflow_name(name));
  CO_CHECKED(workflows::check_step_name(step));
  CO_TRY(HeldWorkflow * workflow, co_await hold(store, caller, std::move(name)));
  auto started = workflow->begin_step(static_cast<uint32_t>(position), std::move(step), std::move(inputs));
  CO_TRY(workflows::StepStart start, co_await std::move(started));
  const size_t bytes = start.value.size();
  Json report;
  switch (start.event) {
    case workflows::StepStart::RunEvent::run:
      report = {{"state", "run"}};
      break;
    case workflows::StepStart::RunEvent::finished:
      report = {{"state", "finished"}, {"value", std::move(start.value)}};
      break;
    case workflows::StepStart::RunEvent::failed:
      report = {{"state", "failed"}, {"message", std::move(start.value)}};
      break;
  }
  report["recorded"] = workflow->recorded_steps();
  report["run"] = workflow->run();
  co_return jail::CallReply(std::move(report), bytes);
}

Result<jail::CallReply> retry_step(const calls::GuestCaller& caller, const Json& arguments) {
  Fields in(arguments, "step_retry");
  TRY(std::string name, in.string("workflow", 256));
  CHECKED(in.done());
  TRY(HeldWorkflow * workflow, opened_workflow(caller, name));
  workflow->retry_step();
  return jail::CallReply(Json::object());
}

Result<jail::CallReply> add_to_value(const calls::GuestCaller& caller, const Json& arguments) {
  Fields in(arguments, "step_value");
  TRY(std::string name, in.string("workflow", 256));
  TRY(const std::string part, in.string("part", kMaxPartBytes));
  CHECKED(in.done());
  TRY(HeldWorkflow * workflow, opened_workflow(caller, name));
  CHECKED(workflow->add_to_value(part));
  return jail::CallReply(Json::object());
}

Result<HeldWorkflow::Ending> read_ending(const Json& arguments, std::string& workflow) {
  Fields in(arguments, "step_end");
  HeldWorkflow::Ending ending;
  TRY(workflow, in.string("workflow", 256));
  TRY(ending.name, in.string("step", 4096));
  TRY(const int64_t position, in.integer("position", 0, UINT32_MAX));
  TRY(const int64_t attempts, in.integer_or("attempts", 1, 1'000'000, 1));
  ending.position = static_cast<uint32_t>(position);
  ending.attempts = static_cast<uint32_t>(attempts);
  TRY(ending.inputs, read_inputs(in));
  if (in.has("failure")) {
    ending.state = workflows::StepState::failed;
    TRY(ending.value, in.string("failure", kMaxPartBytes));
  } else {
    TRY(ending.value, in.string("value", kMaxPartBytes));
  }
  CHECKED(in.done());
  return ending;
}

Task<Result<jail::CallReply>> end_step(calls::GuestCaller& caller, Json arguments) {
  std::string name;
  CO_TRY(HeldWorkflow::Ending ending, read_ending(arguments, name));
  CO_TRY(HeldWorkflow * workflow, opened_workflow(caller, name));
  Result<> room;
  if (ending.state == workflows::StepState::finished)
    room = caller.tenant->workspace().quota().check(
        fmt::format("workflow:///{}", name), static_cast<int64_t>(workflow->bytes_of_parts() + ending.value.size()), 0);
  if (!room) {
    workflow->abandon_step();
    co_return tl::unexpected<Error>(std::move(room).error());
  }
  CO_CHECKED(co_await workflow->end_step(std::move(ending)));
  count_in_quota(caller, workflow->tenant_bytes());
  co_return jail::CallReply(Json::object());
}

}  // namespace

void add_step_calls(calls::GuestCalls& calls, workflows::WorkflowStore& store) {
  calls.add("step_begin", [&store](calls::GuestCaller& caller, Json arguments) {
    return begin_step(store, caller, std::move(arguments));
  });
  calls.add("step_retry", [](const calls::GuestCaller& caller, Json arguments) -> Task<Result<jail::CallReply>> {
    co_return retry_step(caller, arguments);
  });
  calls.add("step_value", [](const calls::GuestCaller& caller, Json arguments) -> Task<Result<jail::CallReply>> {
    co_return add_to_value(caller, arguments);
  });
  calls.add("step_end",
            [](calls::GuestCaller& caller, Json arguments) { return end_step(caller, std::move(arguments)); });
}

}  // namespace tools
