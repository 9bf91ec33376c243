// Named executions: calls of execute_code with an id from the client, in _meta["org.warder/executionId"]. A client
// that lost the answer asks again with the same id and the same arguments. It gets the answer of the first call, or
// waits for it; the program does not run twice. A cancellation that comes before its order makes the daemon refuse the
// order (a fence).
// The ids of each tenant, and of each of its workspaces, are its own: an id of another tenant has no effect.
// Answers and fences are in a tasks::TaskStore (named_limits()). The journal's row of an execution stays longer: it
// still refuses the id when the store has removed the answer.
// Used by: execute.cc, the workspace tools, supervisor/daemon/. Errors: invalid: the id, or the arguments differ;
// denied, with may_have_run: the answer was removed; not_found: no execution has this id.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "supervisor/executions/execution_registry.h"
#include "supervisor/protocol/mcp/content.h"
#include "supervisor/protocol/tasks/task_store.h"

namespace mcp {
class RequestContext;
}

namespace tenants {
class Tenant;
}

namespace runs {

struct ExecuteEnvironment;

constexpr char kExecutionIdKey[] = "org.warder/executionId";

// Whether a request has an id, of any form.
bool has_chosen_id(const Json& meta);
// 16 to 64 of a-z, 0-9, '-' and '_', the first a letter or digit; not in the form of the daemon's own ids.
Result<> check_chosen_id(std::string_view id);
// The id of the execution: "e" and 32 hexadecimal digits, which no other tenant's id gives.
std::string execution_of_chosen(std::string_view tenant, std::string_view chosen);

// The limits of the store. A fence, or an answer, stays for an hour, or until its tenant needs the room for newer ones.
tasks::TaskLimits named_limits();
// The stored answer of an execution that a restart of the daemon ended.
std::string interrupted_named(const std::string& execution);

// NamedRun: the one run of a named execution.
struct NamedRun {
  std::string execution;
  // Set by the run: its program may have begun, or the journal has a row of it, which refuses the id later. So its
  // answer is stored; of a program that did not run, this is the refusal that says so.
  bool keeps_answer = false;
};
using RunNamed = std::function<Task<mcp::ToolResult>(Json arguments, NamedRun& run)>;
// A call with an id. Calls `run` unless the id has an answer.
Task<mcp::ToolResult> execute_named(ExecuteEnvironment& environment, mcp::RequestContext& context, Json arguments,
                                    RunNamed run);

// NamedExecutions: the store of executions with ids that their clients chose; a type of its own among the services of
// parts.
struct NamedExecutions {
  tasks::TaskStore& store;
};
// The stores and the registry that know an execution by its id. All must outlive the users.
struct ExecutionStores {
  tasks::TaskStore& background;
  tasks::TaskStore& named;
  executions::ExecutionRegistry& executions;
};
// The answer as JSON text; {execution_id, state} until it has ended. `chosen`: a client's id.
Task<Result<std::string>> read_named_result(ExecutionStores stores, std::string tenant, std::string chosen);
// ExecutionResult: what exec:///<execution_id>/result is now. working: {execution_id, state}. ended: the answer as JSON
// text. stored: the execution was no background one, and its result was too large for its answer; the tenant's
// Executions have it.
struct ExecutionResult {
  enum class State { working, ended, stored } state = State::ended;
  std::string text;
};
// `execution`: the daemon's or a client's id. Errors: not_found.
Task<Result<ExecutionResult>> find_result(ExecutionStores stores, tenants::Tenant& tenant, std::string execution);
// The same, after the end of the execution or of the wait.
Task<Result<ExecutionResult>> await_result(Loop& loop, ExecutionStores stores, tenants::Tenant& tenant,
                                           std::string execution, std::chrono::milliseconds wait);
// Cancels the execution that runs; if none has come with this id, one that comes is refused. {success, message}.
Task<Result<Json>> cancel_named(ExecutionStores stores, tasks::TaskOwner owner, std::string chosen);

}  // namespace runs
