#include "supervisor/executions/runs/background.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/resource_uris.h"

namespace runs {
namespace {

constexpr char kInterrupted[] = "interrupted";

tl::unexpected<Error> unknown_execution(const std::string& execution) {
  return fail(Code::not_found, "no background execution '" + execution + "' is known",
              "use an execution_id from an answer of execute_code with `background`; the oldest are removed");
}

Json state_of(const std::string& execution, tasks::TaskState state) {
  return {{"execution_id", execution}, {"state", tasks::state_name(state)}};
}

Json ended_without_answer(const std::string& execution, std::string_view outcome, std::string_view why) {
  return {
      {"success", false}, {"error", why}, {"outcome", outcome}, {"may_have_run", true}, {"execution_id", execution}};
}

}  // namespace

std::string saved_text(const std::string& execution, const mcp::ToolResult& result, std::string_view outcome,
                       size_t max) {
  const auto* text = result.content.empty() ? nullptr : std::get_if<mcp::Text>(&result.content.front());
  if (!text) return dump_json(ended_without_answer(execution, outcome, "the answer has no text"));
  if (text->text.size() <= max) return text->text;
  return dump_json(
      {{"success", !result.is_error},
       {"execution_id", execution},
       {"outcome", outcome},
       {"truncated", {{"answer", {{"bytes", text->text.size()}}}}},
       {"answer_begins", valid_utf8(std::string_view(text->text).substr(0, max / 16))},
       {"notes", Json::array({fmt::format("the answer had {} bytes, and {} are kept: return less, or write "
                                          "it to a file in the workspace",
                                          text->text.size(), max)})}});
}

mcp::ToolResult background_handle(const std::string& execution, tasks::TaskState state, std::string_view note) {
  Json now = state_of(execution, state);
  mcp::ResourceLink link;
  link.uri = fmt::format("{}{}/{}", tenants::kExecutionScheme, execution, tenants::kResultPart);
  link.name = tenants::kResultPart;
  now["result"] = link.uri;
  if (!note.empty()) now["note"] = note;
  mcp::ToolResult handle = mcp::ToolResult::text(dump_json(now));
  handle.content.push_back(std::move(link));
  return handle;
}

BackgroundTask::~BackgroundTask() {
  if (!has_started_ || is_closing_()) return;
  ended_();
  store_.end(execution_, tasks::TaskState::cancelled,
             dump_json(ended_without_answer(execution_, "cancelled", "the execution was cancelled")));
}

tasks::NewTask BackgroundTask::new_task(const mcp::Principal& principal, std::string tenant) const {
  tasks::NewTask task;
  task.kind = tasks::TaskKind::background;
  task.owner = {std::move(tenant), principal.name()};
  task.id = execution_;
  return task;
}

Task<Result<>> BackgroundTask::restart(const mcp::Principal& principal, std::string tenant) {
  auto task = co_await store_.begin(new_task(principal, std::move(tenant)));
  if (!task) co_return tl::unexpected<Error>(std::move(task).error());
  has_started_ = true;
  co_return Result<>{};
}

Task<Result<>> BackgroundTask::begin(mcp::RequestContext& context, std::string tenant) {
  CO_TRY(const tasks::StoredTask task, co_await store_.begin(new_task(context.principal, std::move(tenant))));
  auto detached =
      context.detach(background_handle(task.id, task.state, task.is_last_slot ? tasks::kLastSlot : std::string_view()));
  if (detached) {
    has_started_ = true;
  } else {
    store_.forget(execution_);
  }
  co_return detached;
}

void BackgroundTask::end(const mcp::ToolResult& result, std::string_view outcome) {
  if (!std::exchange(has_started_, false)) return;
  ended_();
  const auto state = outcome == "cancelled" ? tasks::TaskState::cancelled : tasks::TaskState::completed;
  store_.end(execution_, state, saved_text(execution_, result, outcome, store_.limits().result_bytes));
}

std::string interrupted_answer(const std::string& execution, const std::string& resumed_as) {
  Json answer =
      ended_without_answer(execution, kInterrupted, "the daemon ended while the program ran; it may have had effects");
  if (!resumed_as.empty()) answer["resumed_as"] = resumed_as;
  return dump_json(answer);
}

std::optional<std::string> execution_of_uri(std::string_view uri) {
  if (!uri.starts_with(tenants::kExecutionScheme)) return std::nullopt;
  uri.remove_prefix(tenants::kExecutionScheme.size());
  return tenants::check_execution_id(std::string(uri)) ? std::optional(std::string(uri)) : std::nullopt;
}

Task<Result<std::string>> read_result(tasks::TaskStore& store, std::string tenant, std::string execution) {
  const tasks::StoredTask* found = store.find_of_tenant(execution, tenant);
  if (!found && store.is_expected(execution)) co_return dump_json(state_of(execution, tasks::TaskState::working));
  if (!found || found->kind != tasks::TaskKind::background) co_return unknown_execution(execution);
  if (!tasks::is_ended(found->state)) co_return dump_json(state_of(found->id, found->state));
  auto text = co_await store.result(std::move(execution));
  co_return text;
}

Result<Json> delete_execution(tasks::TaskStore& store, executions::ExecutionRegistry& registry,
                              const std::string& tenant, const std::string& execution) {
  const tasks::StoredTask* found = store.find_of_tenant(execution, tenant);
  if (!found || found->kind != tasks::TaskKind::background) return unknown_execution(execution);
  if (tasks::is_ended(found->state)) {
    store.forget(execution);
    return Json{{"success", true}, {"message", "Deleted the result of " + execution}};
  }
  // If it has just ended, its answer is about to be stored.
  if (const auto record = registry.find(execution)) static_cast<void>(registry.cancel(*record));
  return Json{{"success", true}, {"message", "Cancelled " + execution}};
}

}  // namespace runs
