#include "supervisor/cluster/moves/move_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/system_time.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/records/workflows/step_inputs.h"

namespace moves {
namespace {

constexpr size_t kMaxWritten = 48 << 20;  // bytes; JSON escapes may make a line longer than its values
constexpr uint32_t kStepsOfRead = 256;
constexpr uint64_t kBytesOfRead = 1 << 20;  // written as JSON in one turn of the loop
constexpr size_t kMaxText = 2 << 20;        // bytes of a result or of a step's value
constexpr size_t kMaxLines = 200'000;
constexpr int kResultDepth = 2 * kMaxJsonDepth;  // the value of a tool is nested in its result
constexpr int64_t kMaxTime = int64_t{1} << 53;
constexpr workflows::WorkflowLimits kWideLimits{100'000, 1'000'000, uint64_t{1} << 50, std::chrono::hours(24 * 365)};

Result<> add_line(std::string& text, const Json& line) {
  text += dump_json(line);
  text += '\n';
  if (text.size() <= kMaxWritten) return {};
  return fail(Code::exhausted, "the stored results of the workspace are too large for a move",
              "wait until they expire, or remove workflows: warder workflow rm");
}

// A client gets the result of a call as it is stored: the members of an object or, of a failed one, an error, in one
// line.
Result<> check_call_result(const tasks::StoredTask& task, const std::string& result) {
  if (task.kind != tasks::TaskKind::call || task.state == tasks::TaskState::cancelled) return {};
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  const bool is_line = std::none_of(result.begin(), result.end(), is_control) && valid_utf8(result) == result;
  const auto value = parse_json(task.state == tasks::TaskState::failed ? result : "{" + result + "}", kResultDepth);
  if (is_line && value && value->is_object()) return {};
  return fail(Code::invalid, "the result of a call is no JSON");
}

// The other node still had the result, so a time that is over comes from a clock that differs: then the result gets its
// whole time to live.
int64_t time_left_ms(const tasks::StoredTask& task) {
  const int64_t remaining = task.created_ms + task.ttl_ms - system_now_ms();
  return remaining > 0 && remaining <= task.ttl_ms ? remaining : task.ttl_ms;
}

Result<MoveRecords::Read::Ended> read_ended(Fields& in, const std::string& tenant, bool is_named) {
  MoveRecords::Read::Ended ended;
  ended.is_named = is_named;
  tasks::StoredTask& task = ended.task;
  TRY(task.id, in.string("id", 128));
  TRY(task.owner.principal, in.string("principal", 4096));
  task.owner.tenant = tenant;
  TRY(const std::string kind, in.string("kind", 32));
  TRY(const std::string state, in.string("state", 32));
  const auto known_kind = tasks::find_kind(kind);
  const auto known_state = tasks::find_state(state);
  if (!known_kind || !known_state || !tasks::is_ended(*known_state)) return fail(Code::invalid, "an unknown state");
  task.kind = *known_kind, task.state = *known_state;
  TRY(task.created_ms, in.integer("created_ms", 0, kMaxTime));
  TRY(task.updated_ms, in.integer("updated_ms", 0, kMaxTime));
  TRY(task.ttl_ms, in.integer("ttl_ms", 0, kMaxTime));
  task.expires_ms = retention_now_ms() + time_left_ms(task);
  TRY(task.is_error, in.boolean_or("is_error", false));
  TRY(task.digest, in.string_or("digest", "", 256));
  TRY(ended.result, in.string("result", kMaxText));
  CHECKED(in.done());
  if (!is_named) CHECKED(check_call_result(task, ended.result));
  return ended;
}

Result<MoveRecords::Read::Flow> read_flow(Fields& in) {
  MoveRecords::Read::Flow flow;
  TRY(flow.name, in.string("name", 64));
  CHECKED(workflows::check_workflow_name(flow.name));
  TRY(flow.workflow.run, in.string("run", 128));
  TRY(flow.workflow.execution, in.string("execution", 128));
  TRY(flow.workflow.created_ms, in.integer("created_ms", 0, kMaxTime));
  TRY(flow.workflow.updated_ms, in.integer("updated_ms", 0, kMaxTime));
  TRY(const int64_t expires_ms, in.integer("expires_ms", 0, kMaxTime));
  flow.workflow.expires_ms = retention_of_wall_ms(expires_ms);
  CHECKED(in.done());
  return flow;
}

Result<workflows::StoredStep> read_step(Fields& in) {
  workflows::StoredStep step;
  TRY(const int64_t position, in.integer("position", 0, UINT32_MAX));
  step.position = static_cast<uint32_t>(position);
  TRY(step.name, in.string("name", 256));
  CHECKED(workflows::check_step_name(step.name));
  TRY(const std::string state, in.string("state", 32));
  const auto existing = workflows::find_state(state);
  if (!existing) return fail(Code::invalid, "an unknown state");
  step.state = *existing;
  TRY(step.value, in.string("value", kMaxText));
  TRY(step.inputs, in.string_or("inputs", "", workflows::kMaxInputsBytes));
  TRY(const int64_t attempts, in.integer("attempts", 0, UINT32_MAX));
  step.attempts = static_cast<uint32_t>(attempts);
  TRY(step.execution, in.string("execution", 128));
  TRY(step.ended_ms, in.integer("ended_ms", 0, kMaxTime));
  CHECKED(in.done());
  return step;
}

Result<> read_line(MoveRecords::Read& records, const std::string& line, const std::string& tenant) {
  TRY(const Json object, parse_json(line));
  if (!object.is_object() || object.size() != 1) return fail(Code::invalid, "no known record");
  const std::string kind = object.begin().key();
  Fields in(object.begin().value(), kind);
  if (kind == "task" || kind == "named") {
    TRY(auto ended, read_ended(in, tenant, kind == "named"));
    records.ended.push_back(std::move(ended));
  } else if (kind == "workflow") {
    TRY(auto flow, read_flow(in));
    records.flows.push_back(std::move(flow));
  } else if (kind == "step" && !records.flows.empty()) {
    TRY(auto step, read_step(in));
    auto& steps = records.flows.back().steps;
    if (step.position != steps.size()) return fail(Code::invalid, "a step is missing");
    steps.push_back(std::move(step));
  } else {
    return fail(Code::invalid, "no known record");
  }
  return {};
}

}  // namespace

Task<Result<std::string>> MoveRecords::write(std::string tenant) {
  std::string text;
  CO_CHECKED(co_await write_tasks(text, tenant, false));
  CO_CHECKED(co_await write_tasks(text, tenant, true));
  CO_CHECKED(co_await write_workflows(text, tenant));
  co_return text;
}

Task<Result<>> MoveRecords::write_tasks(std::string& text, const std::string& tenant, bool is_named) {
  tasks::TaskStore& store = is_named ? named_ : tasks_;
  const auto ended = store.ended_of(tenant);
  for (const tasks::StoredTask& task : ended) {
    auto result = co_await store.result(task.id);
    if (!result && result.error().code == Code::not_found) continue;  // expired meanwhile
    if (!result) co_return tl::unexpected<Error>(std::move(result).error());
    Json row = {{"id", task.id},
                {"principal", task.owner.principal},
                {"kind", tasks::kind_name(task.kind)},
                {"state", tasks::state_name(task.state)},
                {"created_ms", task.created_ms},
                {"updated_ms", task.updated_ms},
                {"ttl_ms", task.ttl_ms},
                {"is_error", task.is_error},
                {"digest", task.digest},
                {"result", *std::move(result)}};
    Json line = Json::object();
    line[is_named ? "named" : "task"] = std::move(row);
    CO_CHECKED(add_line(text, line));
  }
  co_return Result<>{};
}

Task<Result<>> MoveRecords::write_workflows(std::string& text, const std::string& tenant) {
  CO_TRY(const auto all, co_await workflows_.list(tenant));
  for (const auto& [name, workflow] : all) {
    Json line = {{"workflow",
                  {{"name", name},
                   {"run", workflow.run},
                   {"execution", workflow.execution},
                   {"created_ms", workflow.created_ms},
                   {"updated_ms", workflow.updated_ms},
                   {"expires_ms", wall_of_retention_ms(workflow.expires_ms)}}}};
    CO_CHECKED(add_line(text, line));
    const workflows::WorkflowId id{tenant, name};
    for (uint32_t first = 0; first < workflow.steps;) {
      CO_TRY(const auto steps, co_await workflows_.steps(id, first, kStepsOfRead, kBytesOfRead));
      if (steps.empty()) break;
      for (const workflows::StoredStep& step : steps) {
        Json row = {{"step",
                     {{"position", step.position},
                      {"name", step.name},
                      {"state", workflows::state_name(step.state)},
                      {"value", step.value},
                      {"inputs", step.inputs},
                      {"attempts", step.attempts},
                      {"execution", step.execution},
                      {"ended_ms", step.ended_ms}}}};
        CO_CHECKED(add_line(text, row));
      }
      first = steps.back().position + 1;
    }
  }
  co_return Result<>{};
}

Result<MoveRecords::Read> MoveRecords::read(const std::string& text, const std::string& tenant) {
  Read records;
  size_t number = 0;
  std::string_view rest = text;
  while (const auto line = take_line(rest)) {
    if (++number > kMaxLines) return fail(Code::invalid, "the snapshot has too many records");
    const auto read = read_line(records, std::string(*line), tenant);
    if (!read)
      return fail(Code::invalid, fmt::format("the snapshot is refused: line {} of its records: {}", number,
                                             printable(read.error().what, 200)));
  }
  return records;
}

Task<> MoveRecords::adopt(std::string tenant, Read records) {
  for (Read::Ended& item : records.ended) {
    const std::string id = item.task.id;
    auto adopted = co_await (item.is_named ? named_ : tasks_).adopt(std::move(item.task), std::move(item.result));
    if (!adopted) log_warning("the result {} of {} did not move: {}", printable(id, 64), tenant, adopted.error().what);
  }
  for (Read::Flow& flow : records.flows) {
    const std::string name = flow.name;
    const auto adopted = co_await adopt_flow(tenant, std::move(flow));
    if (!adopted) log_warning("the workflow {} of {} did not move whole: {}", name, tenant, adopted.error().what);
  }
}

Task<Result<>> MoveRecords::adopt_flow(const std::string& tenant, Read::Flow flow) {
  const workflows::WorkflowId id{tenant, flow.name};
  const int64_t expires_ms = flow.workflow.expires_ms;
  flow.workflow.steps = 0, flow.workflow.bytes = 0;
  CO_TRY(const auto opened, co_await workflows_.open(id, std::move(flow.workflow), kWideLimits));
  (void)opened;
  for (workflows::StoredStep& step : flow.steps) {
    CO_TRY(const uint64_t bytes, co_await workflows_.put(id, std::move(step), expires_ms, kWideLimits));
    (void)bytes;
  }
  co_return Result<>{};
}

Task<Result<bool>> MoveRecords::has_any(std::string tenant) {
  if (!tasks_.ended_of(tenant).empty()) co_return true;
  CO_TRY(const auto flows, co_await workflows_.list(std::move(tenant)));
  co_return !flows.empty();
}

Task<> MoveRecords::forget(std::string tenant) {
  for (tasks::TaskStore* store : {&tasks_, &named_}) {
    const auto ended = store->ended_of(tenant);
    for (const tasks::StoredTask& task : ended) store->forget(task.id);
  }
  const auto all = co_await workflows_.list(tenant);
  if (!all) co_return;
  for (const auto& listed : *all) {
    workflows::WorkflowId id{tenant, listed.name};
    const auto removed = co_await workflows_.remove(std::move(id));
    if (!removed) log_warning("a workflow of {} is still here: {}", tenant, removed.error().what);
  }
}

}  // namespace moves
