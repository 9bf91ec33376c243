// The part of Server that answers the methods of tasks. Sources: ext-tasks, specification/draft/tasks (2026-07-28):
// tasks/get, update and cancel, for clients that declare the extension; basic/utilities/tasks of 2025-11-25
// (experimental): tasks/get, result, list and cancel.
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/definitions.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/mcp/task_calls.h"
#include "supervisor/protocol/mcp/task_questions.h"

namespace mcp {
namespace {

RpcError unknown_task() {
  return {ErrorCode::invalid_params, "Invalid params: taskId is not known", {{"remedy", "call the tool again"}}};
}

RpcError no_such_method(const RequestContext& context) {
  return {ErrorCode::method_not_found, "Method not found: " + context.method, {}};
}

// The error that a failed task keeps as text.
RpcError kept_error(const std::string& text) {
  RpcError error{ErrorCode::internal_error, "Internal error", {}};
  const auto read = parse_json(text);
  if (!read || !read->is_object()) return error;
  error.code = static_cast<ErrorCode>(read->value("code", static_cast<int>(error.code)));
  error.message = read->value("message", error.message);
  error.data = read->value("data", Json());
  return error;
}

}  // namespace

RpcError tasks_not_declared() {
  const Json needed = {{"extensions", {{kTasksExtension, Json::object()}}}};
  return {ErrorCode::missing_client_capability,
          fmt::format("this needs the extension {}, which the client did not declare", kTasksExtension),
          {{"requiredCapabilities", needed}}};
}

void Server::set_tasks(tasks::TaskStore& store, TaskRules rules) {
  task_calls_ = std::make_unique<TaskCalls>(loop_, store, std::move(rules));
  store.on_change([this](const tasks::StoredTask& task) { subscriptions_.task_changed(task); });
  cache_.clear();
}

bool Server::may_be_task(const Json& params) const {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string()) return false;
  const ToolDefinition* tool = find_tool(name->get_ref<const std::string&>());
  return tool && tool->tasks != ToolDefinition::Tasks::forbidden;
}

// A legacy client asks for a task in its call. Errors: method_not_found, the tool makes no tasks; invalid_params.
tl::expected<std::optional<int64_t>, RpcError> Server::requested_task_ttl(const Json& params) const {
  const auto it = params.find("task");
  if (it == params.end() || it->is_null()) return std::nullopt;
  if (!it->is_object()) return refuse(ErrorCode::invalid_params, "Invalid params: task must be an object");
  const auto name = params.find("name");
  const ToolDefinition* tool =
      name != params.end() && name->is_string() ? find_tool(name->get_ref<const std::string&>()) : nullptr;
  if (tool && tool->tasks == ToolDefinition::Tasks::forbidden)
    return refuse(ErrorCode::method_not_found, fmt::format("tool '{}' cannot run as a task", tool->name));
  const auto ttl = it->find("ttl");
  if (ttl == it->end() || ttl->is_null()) return task_calls_->store().limits().default_ttl.count();
  const double ms = ttl->is_number() ? ttl->get<double>() : -1;
  if (!(ms >= 0))
    return refuse(ErrorCode::invalid_params, "Invalid params: task.ttl must be a number of milliseconds, 0 or more");
  constexpr double kMaxMs = 1e12;
  return static_cast<int64_t>(std::min(ms, kMaxMs));  // brought into the limits by the store
}

Task<Answer> Server::task_method(Method method, RequestContext& context, Json params) {
  const bool modern = context.era() == Era::modern;
  if (context.version < Version::v2025_11_25) co_return tl::unexpected(no_such_method(context));
  if (modern && !declares_tasks(*context.client)) co_return tl::unexpected(tasks_not_declared());
  TaskCalls& calls = *task_calls_;
  if (method == Method::tasks_list) co_return list_tasks(context, params);
  auto id = string_in(params, "taskId", "taskId");
  if (!id) co_return tl::unexpected(std::move(id).error());
  const tasks::StoredTask* task = calls.known(*id, context);
  if (!task) co_return tl::unexpected(unknown_task());
  std::string members;
  if (method == Method::tasks_update) {
    const auto responses = params.find("inputResponses");
    if (responses == params.end() || !responses->is_object())
      co_return refuse(ErrorCode::invalid_params, "Invalid params: inputResponses must be an object");
    calls.give_answers(*id, *responses);
    finish_result(members, context.version, identity_);
    co_return members;
  }
  if (method == Method::tasks_cancel) {
    if (!modern && tasks::is_ended(task->state))
      co_return refuse(ErrorCode::invalid_params,
                       fmt::format("the task is {} already", tasks::state_name(shown_state(*task, context.version))));
    calls.cancel(*id);
    task = calls.known(*id, context);
    if (!modern && task) append_task(members, *task, context.version, calls.rules().poll_ms);
    finish_result(members, context.version, identity_);
    co_return members;
  }
  if (method == Method::tasks_result) {
    auto answer = co_await task_result(context, *std::move(id));
    co_return answer;
  }
  auto answer = co_await task_members(context, *std::move(id));
  if (answer) finish_result(*answer, context.version, identity_);
  co_return answer;
}

Task<Answer> Server::task_members(RequestContext& context, std::string id) {
  TaskCalls& calls = *task_calls_;
  const std::string request = calls.input_requests(id);  // may change the state
  const tasks::StoredTask* stored_task = calls.known(id, context);
  if (!stored_task) co_return tl::unexpected(unknown_task());
  const tasks::StoredTask task = *stored_task;
  std::string members;
  append_task(members, task, context.version, calls.rules().poll_ms);
  const bool modern = context.era() == Era::modern;
  if (modern && !request.empty()) {
    append_key(members, "inputRequests");
    members.append("{").append(request).append("}");
  }
  if (modern && (task.state == tasks::TaskState::completed || task.state == tasks::TaskState::failed)) {
    auto text = co_await calls.store().result(id);
    if (!text && text.error().code == Code::not_found) co_return tl::unexpected(unknown_task());
    const bool is_error = task.state == tasks::TaskState::failed;
    append_key(members, is_error ? "error" : "result");
    if (is_error && text) {
      members += *text;
    } else if (text) {
      members.append("{").append(*text).append("}");
    } else {
      std::string lost;
      append_tool_result(lost, ToolResult::error(text.error()), context.version);
      finish_result(lost, context.version, identity_);
      members.append("{").append(lost).append("}");
    }
  }
  co_return members;
}

// Waits for the end of the task, and asks its questions. If the client leaves, only this wait ends.
Task<Answer> Server::task_result(RequestContext& context, std::string id) {
  tasks::TaskStore& store = task_calls_->store();
  std::optional<TaskQuestions> questions;
  questions.emplace(*task_calls_, context, id);
  while (const auto changed = store.when_ended(id)) {
    questions->ask(changed);
    co_await *changed;
  }
  questions.reset();
  const tasks::StoredTask* task = task_calls_->known(id, context);
  if (!task) co_return tl::unexpected(unknown_task());
  const tasks::TaskState state = task->state;
  if (state == tasks::TaskState::cancelled) co_return refuse(ErrorCode::invalid_request, "the task was cancelled");
  auto text = co_await store.result(id);
  if (!text) co_return tl::unexpected(rpc_error(text.error()));
  if (state == tasks::TaskState::failed) co_return tl::unexpected(kept_error(*text));
  co_return *std::move(text);
}

// One page: a tenant has not many tasks.
Answer Server::list_tasks(const RequestContext& context, const Json& params) const {
  const auto cursor = cursor_in(params);
  if (!cursor || !cursor->empty()) return tl::unexpected(bad_cursor());
  std::string members;
  auto append_one = [this](std::string& out, const tasks::StoredTask& task, Version version) {
    std::string fields;
    append_task(fields, task, version, task_calls_->rules().poll_ms);
    out.append("{").append(fields).append("}");
  };
  const tasks::TaskOwner owner = task_calls_->new_task(context).owner;
  append_list(members, "tasks", task_calls_->store().list(tasks::TaskKind::call, owner), context.version, append_one);
  finish_result(members, context.version, identity_);
  return members;
}

}  // namespace mcp
