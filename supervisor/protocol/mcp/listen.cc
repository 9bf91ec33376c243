// The part of Server that answers subscriptions/listen (2026-07-28; ext-tasks for taskIds).
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace mcp {

// Leaves the tasks of the client. Errors: the client names tasks and does not declare the extension.
tl::expected<void, RpcError> Server::choose_tasks(const RequestContext& context, std::set<std::string>& ids) const {
  if (ids.empty()) return {};
  if (task_calls_ && !declares_tasks(*context.client)) return tl::unexpected(tasks_not_declared());
  std::erase_if(ids, [&](const std::string& id) { return !task_calls_ || !task_calls_->known(id, context); });
  return {};
}

// Runs until the server drains, or until the client cancels the request, which destroys this task.
Task<Answer> Server::listen(RequestContext& context, Json params) {
  auto wishes = read_wishes(params, reported_);
  if (!wishes) co_return tl::unexpected(std::move(wishes).error());
  if (auto chosen = choose_tasks(context, wishes->tasks); !chosen) co_return tl::unexpected(std::move(chosen).error());
  auto send = [&context](std::string line) { context.notify(std::move(line)); };
  Subscriptions::Interest interest(subscriptions_, context.user, context.id.wire, send);
  std::erase_if(wishes->uris, [this](const std::string& uri) { return resources_.provider_of(uri) == nullptr; });
  interest.wishes = *std::move(wishes);
  interest.watch(context.meta);
  params = nullptr;  // a subscription may last for days
  context.meta = Json::object();
  interest.send("notifications/subscriptions/acknowledged", write_watches(interest.wishes));

  const auto listening = std::make_shared<Listening>();
  listening->is_ending = draining_;
  for (const std::string& id : interest.wishes.tasks) {  // it may have changed before the client could listen
    const tasks::StoredTask* task = task_calls_->known(id, context);
    if (task && task->state != tasks::TaskState::working) listening->tasks.insert(id);
  }
  interest.task_changed = [this, weak = std::weak_ptr(listening)](const tasks::StoredTask& task) {
    const auto alive = weak.lock();
    if (!alive || !alive->tasks.insert(task.id).second) return;
    loop_.defer([weak] {  // later: the task's handler may be on the stack
      const auto still = weak.lock();
      if (!still) return;
      const auto wake = still->wake;
      wake->fire();
    });
  };
  std::erase_if(listening_, [](const auto& item) { return item.expired(); });
  listening_.push_back(listening);
  while (!listening->is_ending || !listening->tasks.empty()) {
    listening->wake = std::make_shared<Event>();
    if (!listening->tasks.empty()) {
      const std::string id = listening->tasks.extract(listening->tasks.begin()).value();
      auto members = co_await task_members(context, id);
      if (members) interest.send("notifications/tasks", *std::move(members));
      continue;
    }
    const auto wake = listening->wake;
    co_await *wake;
  }
  std::string members;
  const ResultMeta meta = {{std::string(meta_key::kSubscriptionId), context.id.wire},
                           {std::string(meta_key::kNotRun), R"("draining")"}};
  finish_result(members, context.version, identity_, meta);
  co_return members;
}

}  // namespace mcp
