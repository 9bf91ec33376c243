#include "supervisor/protocol/mcp/task_calls.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"

namespace mcp {
namespace {

// With milliseconds: a task may change more than once in a second.
std::string task_time(int64_t ms) {
  std::string text = iso_time(ms * 1'000'000);
  if (!text.empty()) text.back() = '.';  // of "12:34:56Z"
  return text + fmt::format("{:03}Z", ms % 1000);
}

void append_number(std::string& members, std::string_view key, int64_t number) {
  append_key(members, key);
  members += std::to_string(number);
}

}  // namespace

bool declares_tasks(const ClientInfo& client) {
  if (!client.capabilities.is_object()) return false;
  const auto extensions = client.capabilities.find("extensions");
  return extensions != client.capabilities.end() && extensions->is_object() && extensions->contains(kTasksExtension);
}

// 2025-11-25 calls a task `failed` if its tool failed. In 2026-07-28 that is a result, and `failed` is for errors of
// the protocol.
tasks::TaskState shown_state(const tasks::StoredTask& task, Version version) {
  const bool failed = era_of(version) == Era::legacy && task.state == tasks::TaskState::completed && task.is_error;
  return failed ? tasks::TaskState::failed : task.state;
}

ResultMeta related_task(const std::string& task) {
  return {{std::string(meta_key::kRelatedTask), dump_json(Json{{"taskId", task}})}};
}

std::string interrupted_result(const std::string& task, std::string_view server_info) {
  const Json why = {{"success", false},
                    {"error", "the server ended while this call ran; it may have had effects"},
                    {"outcome", "interrupted"},
                    {"may_have_run", true}};
  std::string members;
  ToolResult result = ToolResult::text(dump_json(why));
  result.is_error = true;
  append_tool_result(members, result, kNewestModern);
  finish_result(members, kNewestModern, server_info, related_task(task));
  return members;
}

void append_task(std::string& members, const tasks::StoredTask& task, Version version, int64_t poll_ms) {
  const bool modern = era_of(version) == Era::modern;
  append_member(members, "taskId", task.id);
  append_member(members, "status", tasks::state_name(shown_state(task, version)));
  append_member(members, "createdAt", task_time(task.created_ms));
  append_member(members, "lastUpdatedAt", task_time(task.updated_ms));
  append_number(members, modern ? "ttlMs" : "ttl", task.ttl_ms);
  append_number(members, modern ? "pollIntervalMs" : "pollInterval", poll_ms);
  if (task.is_last_slot) append_member(members, "statusMessage", tasks::kLastSlot);
}

std::string created_members(const tasks::StoredTask& task, Version version, int64_t poll_ms,
                            std::string_view server_info) {
  std::string members;
  if (era_of(version) == Era::modern) {
    append_task(members, task, version, poll_ms);
    finish_result(members, version, server_info, {}, {}, Completeness::task);
    return members;
  }
  std::string inner;
  append_task(inner, task, version, poll_ms);
  append_key(members, "task");
  members.append("{").append(inner).append("}");
  finish_result(members, version, server_info);
  return members;
}

// Calls are destroyed after their entries are gone: the destructor of one handler may let another handler finish.
TaskCalls::~TaskCalls() {
  store_.on_change({});
  cancel_of({});
}

tasks::NewTask TaskCalls::new_task(const RequestContext& context, std::optional<int64_t> ttl_ms) const {
  tasks::NewTask task;
  task.owner = rules_.owner_of ? rules_.owner_of(context) : tasks::TaskOwner{"", context.principal.name()};
  task.ttl_ms = ttl_ms;
  return task;
}

const tasks::StoredTask* TaskCalls::known(const std::string& id, const RequestContext& context) const {
  const tasks::StoredTask* found = store_.find(id, new_task(context).owner);
  return found && found->kind == tasks::TaskKind::call ? found : nullptr;
}

void TaskCalls::take(std::unique_ptr<RunningCall> call, std::string id) {
  RunningCall& running_call = *call;
  running_call.host = this;
  running_call.context.task = id;
  running_call.promotion.reset();
  if (!id.empty()) by_id_[std::move(id)] = &running_call;
  calls_[&running_call] = std::move(call);
}

RunningCall* TaskCalls::find(const std::string& id) {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

std::unique_ptr<RunningCall> TaskCalls::extract(const RunningCall& call) {
  auto node = calls_.extract(&call);
  if (node.empty()) return nullptr;
  by_id_.erase(call.context.task);
  return std::move(node.mapped());
}

std::string TaskCalls::input_requests(const std::string& id) {
  RunningCall* call = find(id);
  if (!call) return {};
  std::string members = call->open_questions();
  store_.set_waits_for_input(id, !members.empty());  // a question may have been taken back
  return members;
}

void TaskCalls::give_answers(const std::string& id, const Json& responses) {
  RunningCall* call = find(id);
  if (!call) return;
  call->give_answers(responses);
  questions_changed(id);
}

void TaskCalls::give_answer(const std::string& id, const std::string& key, Elicited answer) {
  RunningCall* call = find(id);
  if (!call || std::erase_if(call->questions, [&](const auto& request) { return request.key == key; }) == 0) return;
  if (const auto question = call->embedded->take(key)) answer_later(loop_, question, std::move(answer));
  questions_changed(id);
}

// A handler may be on the stack: waiting requests go on later.
void TaskCalls::questions_changed(const std::string& id) {
  RunningCall* call = find(id);
  if (!call) return;
  store_.set_waits_for_input(id, call->has_open_questions());
  for (const auto& item : std::exchange(call->watchers, {})) {
    loop_.defer([item] {
      if (const auto event = item.lock()) event->fire();
    });
  }
}

void TaskCalls::cancel(const std::string& id) {
  store_.end(id, tasks::TaskState::cancelled, "");
  RunningCall* call = find(id);
  if (!call) return;
  call->context.close();
  loop_.defer([cancelled = std::shared_ptr<RunningCall>(extract(*call))] {});  // destroyed there, with its handler
}

void TaskCalls::cancel_of(const std::function<bool(const std::shared_ptr<ConnectionUser>& user)>& chosen) {
  std::vector<std::unique_ptr<RunningCall>> cancelled;
  for (auto it = calls_.begin(); it != calls_.end();) {
    const auto next = std::next(it);
    if (!chosen || chosen(it->second->context.user)) {
      by_id_.erase(it->second->context.task);
      cancelled.push_back(std::move(calls_.extract(it).mapped()));
    }
    it = next;
  }
  if (!chosen) return;  // the daemon ends: the next one finds these tasks
  for (const auto& call : cancelled)
    if (!call->context.task.empty()) store_.end(call->context.task, tasks::TaskState::cancelled, "");
}

// A client of 2025-11-25 gets the progress of its task. No other message goes to a client that does not wait for an
// answer.
void TaskCalls::notify(const RunningCall& call, std::string line) {
  if (call.notify_client) call.notify_client(std::move(line));
}

std::shared_ptr<Elicitation> TaskCalls::ask(RunningCall& call, ElicitationForm form,
                                            std::function<void(Elicited)> answered) {
  const std::string& id = call.context.task;
  if (id.empty()) return nullptr;
  auto question = call.add_question(std::move(form), std::move(answered));
  if (!question) return nullptr;
  question->withdrawn = [first = std::move(question->withdrawn), self = std::weak_ptr(self_), id] {
    first();
    if (const auto alive = self.lock()) (*alive)->questions_changed(id);
  };
  questions_changed(id);
  return question;
}

void TaskCalls::finish(RunningCall& call, Answer answer) {
  call.context.close();
  auto done = extract(call);
  if (!done) return;  // the call is being destroyed
  call.unread->set(0);
  if (const std::string& id = call.context.task; !id.empty()) {
    if (answer) {
      store_.end(id, tasks::TaskState::completed, *std::move(answer), call.context.is_error);
    } else {
      store_.end(id, tasks::TaskState::failed, error_object(answer.error()));
    }
  }
  call.share.reset();
  call.busy.reset();
  // Destroyed later, because the call's task is on the stack.
  loop_.defer([ended_call = std::shared_ptr<RunningCall>(std::move(done))] {});
}

Result<> TaskCalls::detach(RunningCall&, ToolResult) { return {}; }  // its client was answered

Task<Result<>> TaskCalls::become_task(RunningCall&) { co_return Result<>(); }  // it is one

}  // namespace mcp
