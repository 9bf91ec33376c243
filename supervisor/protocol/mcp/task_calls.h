// TaskCalls: calls that go on after their client was answered. Two kinds:
//   a task      the client got its id, and asks for its state and result with tasks/get (task_methods.cc)
//   detached    the handler answered at once by RequestContext::detach(), and keeps its own result
// States and results are in a tasks::TaskStore, which outlives this object and may outlive the daemon.
// A question of a task's handler waits for tasks/update, or for a legacy client's tasks/result (task_questions.h); the
// client of a detached call cannot be asked.
// Owned by: Server. Used by: Conversation, task_methods.cc. No errors. Destroying it cancels all its calls, and their
// tasks stay as they are in the store: the next daemon finds them interrupted.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/running_call.h"
#include "supervisor/protocol/tasks/task_store.h"

namespace mcp {

constexpr char kTasksExtension[] = "io.modelcontextprotocol/tasks";

struct TaskRules {
  std::chrono::milliseconds promote_after{15'000};  // a call that runs longer becomes a task, if its client knows tasks
  int64_t poll_ms = 2'000;                          // how often a client should ask
  std::function<tasks::TaskOwner(const RequestContext&)> owner_of;
};

// Whether a modern client declared the extension with its request.
bool declares_tasks(const ClientInfo& client);

class TaskCalls : private CallHost {
 public:
  // The store must outlive it.
  TaskCalls(Loop& loop, tasks::TaskStore& store, TaskRules rules)
      : loop_(loop),
        store_(store),
        rules_(std::move(rules)),
        self_(std::make_shared<TaskCalls*>(this)),
        beginning_(loop) {}
  ~TaskCalls() override;
  TaskCalls(const TaskCalls&) = delete;
  TaskCalls& operator=(const TaskCalls&) = delete;

  tasks::TaskStore& store() { return store_; }
  const TaskRules& rules() const { return rules_; }
  tasks::NewTask new_task(const RequestContext& context, std::optional<int64_t> ttl_ms = {}) const;
  // A task of the client that asks. nullptr: unknown, another client's, or an execution in the background. The pointer
  // is valid until the store changes.
  const tasks::StoredTask* known(const std::string& id, const RequestContext& context) const;
  // Tasks that are being begun without their call waiting for it.
  Scope& beginning() { return beginning_; }
  // For timers of calls, which may fire when this object has gone: the loop outlives it.
  std::weak_ptr<TaskCalls*> weak() const { return self_; }

  // Becomes the call's host. `id`: of its task in the store; empty: the call is detached.
  void take(std::unique_ptr<RunningCall> call, std::string id);
  // The call of a task that has not ended; nullptr: absent.
  RunningCall* find(const std::string& id);
  // The open questions of a task, as the members of an object; empty: absent.
  std::string input_requests(const std::string& id);
  // Gives answers to open questions; others are ignored.
  void give_answers(const std::string& id, const Json& responses);
  // Gives one answer to an open question, by its key; others are ignored.
  void give_answer(const std::string& id, const std::string& key, Elicited answer);
  // Sets the task's state after its open questions have changed, and wakes the requests that wait for it.
  void questions_changed(const std::string& id);
  // Ends a task that has not ended, and its handler.
  void cancel(const std::string& id);
  // Cancels all calls of these users, tasks and detached calls. An empty function: of all users.
  void cancel_of(const std::function<bool(const std::shared_ptr<ConnectionUser>& user)>& chosen);
  size_t count() const { return calls_.size(); }

 private:
  void notify(const RunningCall& call, std::string line) override;
  std::shared_ptr<Elicitation> ask(RunningCall& call, ElicitationForm form,
                                   std::function<void(Elicited)> answered) override;
  void finish(RunningCall& call, Answer answer) override;
  Result<> detach(RunningCall& call, ToolResult now) override;
  Task<Result<>> become_task(RunningCall& call) override;
  std::unique_ptr<RunningCall> extract(const RunningCall& call);

  Loop& loop_;
  tasks::TaskStore& store_;
  const TaskRules rules_;
  const std::shared_ptr<TaskCalls*> self_;  // for questions, which may be destroyed later
  std::map<const RunningCall*, std::unique_ptr<RunningCall>> calls_;
  std::map<std::string, RunningCall*> by_id_;
  Scope beginning_;  // last: cancelled first
};

// The result of a task that a restart of the daemon ended, as TaskStore::load() wants it. It has the form of the newest
// version and the _meta of 2025-11-25, because the row does not say which version the client spoke.
std::string interrupted_result(const std::string& task, std::string_view server_info);
// The _meta of every message about a task, other than those that have its id as a member (2025-11-25).
ResultMeta related_task(const std::string& task);
// The state of the task in the words of the version.
tasks::TaskState shown_state(const tasks::StoredTask& task, Version version);
// The task's fields: taskId, status and times, under the names of the version.
void append_task(std::string& members, const tasks::StoredTask& task, Version version, int64_t poll_ms);
// The answer to a call that became a task.
std::string created_members(const tasks::StoredTask& task, Version version, int64_t poll_ms,
                            std::string_view server_info);

}  // namespace mcp
