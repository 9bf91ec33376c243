// The part of Conversation that gives calls to TaskCalls: the client gets an answer, and the call goes on.
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace mcp {

// The call's task is on the stack.
Result<> Conversation::detach(RunningCall& call, ToolResult now) {
  TaskCalls* tasks = server_.task_calls();
  if (!tasks || !owns(call)) return fail(Code::unavailable, "this call cannot go on without its client");
  std::string members;
  append_tool_result(members, now, call.context.version);
  finish_result(members, call.context.version, server_.identity(), now.meta);
  call.context.close();
  hand_over(call, "", members);
  return {};
}

// A member of `call` waits for this function: if the conversation ends before, both are destroyed.
Task<Result<>> Conversation::become_task(RunningCall& call) {
  TaskCalls* tasks = server_.task_calls();
  if (!tasks || !owns(call)) co_return fail(Code::unavailable, "this call cannot become a task");
  call.promotion.reset();  // else the timer could give the call away meanwhile
  call.promotion_token.reset();
  tasks::NewTask new_task = tasks->new_task(call.context, call.requested_ttl_ms);
  CO_TRY(const tasks::StoredTask task, co_await tasks->store().begin(std::move(new_task)));
  if (!owns(call)) {
    tasks->store().forget(task.id);
    co_return fail(Code::unavailable, "this call cannot become a task");
  }
  const std::string members = created_members(task, call.context.version, tasks->rules().poll_ms, server_.identity());
  hand_over(call, task.id, members);
  co_return Result<>();
}

bool Conversation::owns(const RunningCall& call) const {
  const auto it = calls_.find(call.context.id);
  return it != calls_.end() && it->second.get() == &call;
}

// Answers the client with `members`.
void Conversation::hand_over(RunningCall& call, std::string task, const std::string& members) {
  const RequestId id = call.context.id;
  call.unread->set(0);
  if (!task.empty() && call.context.era() == Era::legacy) {
    settings_.interest->wishes.tasks.insert(task);
    call.context.stop_log();
    call.notify_client = [self = std::weak_ptr(self_)](std::string line) {
      if (const auto alive = self.lock()) (*alive)->sink_.notify(nullptr, std::move(line), Sink::Delivery::if_room);
    };
  } else {
    call.context.set_notifications({}, {});
  }
  const auto batch = std::exchange(call.batch, nullptr);
  server_.task_calls()->take(std::move(calls_.extract(id).mapped()), std::move(task));
  reply(&id, result_line(id, members), {}, batch);
  sink_.calls_changed();
}

// The timer of a call whose client knows tasks: while the row is committed, the call may end, and its id may be used
// again.
void Conversation::promote_later(RunningCall& call) {
  TaskCalls* tasks = server_.task_calls();
  if (!tasks || call.context.era() != Era::modern || !declares_tasks(*call.context.client) || !call.may_be_task) return;
  call.promotion_token = std::make_shared<int>();
  call.promotion.emplace(loop_, tasks->rules().promote_after,
                         [self = std::weak_ptr(self_), id = call.context.id,
                          token = std::weak_ptr(call.promotion_token), tasks = tasks->weak()] {
                           const auto alive = tasks.lock();
                           if (alive) (*alive)->beginning().spawn(promote(self, **alive, id, token));
                         });
}

Task<> Conversation::promote(std::weak_ptr<Conversation*> self, TaskCalls& tasks, RequestId id,
                             std::weak_ptr<int> token) {
  RunningCall* call = promotable(self, id, token);
  if (!call) co_return;
  tasks::NewTask new_task = tasks.new_task(call->context);
  auto task = co_await tasks.store().begin(std::move(new_task));
  if (!task) {
    log_debug("a call continues without becoming a task: {}", task.error().what);
    co_return;
  }
  call = promotable(self, id, token);
  if (!call) {
    tasks.store().forget(task->id);
    co_return;
  }
  Conversation& conversation = **self.lock();
  const std::string members =
      created_members(*task, call->context.version, tasks.rules().poll_ms, conversation.server_.identity());
  conversation.hand_over(*call, task->id, members);
}

// nullptr: the call has ended or waits elsewhere.
RunningCall* Conversation::promotable(const std::weak_ptr<Conversation*>& self, const RequestId& id,
                                      const std::weak_ptr<int>& token) {
  const auto alive = self.lock();
  const auto same = token.lock();
  if (!alive || !same) return nullptr;
  const auto found = (*alive)->calls_.find(id);
  if (found == (*alive)->calls_.end() || found->second->promotion_token != same) return nullptr;
  return found->second.get();
}

}  // namespace mcp
