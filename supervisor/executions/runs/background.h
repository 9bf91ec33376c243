// Background executions: calls of execute_code with `background: true`. The client gets the execution's id at once; the
// program continues when the client leaves, and ends with the daemon. Its answer is stored as a task, and is the
// resource exec:///<execution_id>/result. It is cancelled by delete_workspace_file("exec:///<execution_id>") and
// `warder kill`. Used by: execute.cc, the workspace tools, supervisor/daemon/. Errors: exhausted, the tenant has
// too many tasks; not_found: the tenant has no background execution of that id, or no longer.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/executions/execution_registry.h"
#include "supervisor/protocol/mcp/content.h"
#include "supervisor/protocol/mcp/principal.h"
#include "supervisor/protocol/tasks/task_store.h"

namespace mcp {
class RequestContext;
}

namespace runs {

// BackgroundTask: the task of one background execution. If it is destroyed before end(), the task is `cancelled`; but
// at the end of the daemon it stays as it is, and the next daemon ends it as `interrupted`.
class BackgroundTask {
 public:
  // The store and `is_closing` must outlive it. `ended` is called before the task's end, unless the daemon ends it.
  BackgroundTask(tasks::TaskStore& store, std::function<bool()> is_closing, std::function<void()> ended,
                 std::string execution)
      : store_(store), is_closing_(std::move(is_closing)), ended_(std::move(ended)), execution_(std::move(execution)) {}
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Commits the task, then answers the client.
  Task<Result<>> begin(mcp::RequestContext& context, std::string tenant);
  // Commits the task of an execution that has no client, because the daemon starts it again.
  Task<Result<>> restart(const mcp::Principal& principal, std::string tenant);
  void end(const mcp::ToolResult& result, std::string_view outcome);

 private:
  tasks::NewTask new_task(const mcp::Principal& principal, std::string tenant) const;

  tasks::TaskStore& store_;
  const std::function<bool()> is_closing_;
  const std::function<void()> ended_;
  const std::string execution_;
  bool has_started_ = false;
};

// The answer of an execution that a restart of the daemon ended, as JSON text. Its outcome is `interrupted`.
// `resumed_as`: the execution that continues its work; empty: no execution does.
std::string interrupted_answer(const std::string& execution, const std::string& resumed_as);

// The answer that says where the result of a background execution will be: {execution_id, state, result, note?}, and
// a link.
mcp::ToolResult background_handle(const std::string& execution, tasks::TaskState state, std::string_view note = {});
// The text block of an answer; of a text longer than `max` bytes, its beginning, and a note that says so.
std::string saved_text(const std::string& execution, const mcp::ToolResult& result, std::string_view outcome,
                       size_t max);

// The id in exec:///<execution_id>; nullopt for any other text.
std::optional<std::string> execution_of_uri(std::string_view uri);

// The answer as JSON text; {execution_id, state} until the execution has ended.
Task<Result<std::string>> read_result(tasks::TaskStore& store, std::string tenant, std::string execution);
// Cancels a background execution, or removes the result of one that has ended. {success, message}.
Result<Json> delete_execution(tasks::TaskStore& store, executions::ExecutionRegistry& registry,
                              const std::string& tenant, const std::string& execution);

}  // namespace runs
