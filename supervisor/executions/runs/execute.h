// execute(): one call of execute_code, from its record in the registry to its answer. It begins the recording and the
// background task, runs the code once (code_execution.h) or for each item (fan_out.h), and words a refusal.
// Source: the tool execute_code; supervisor/daemon/, for executions that a restart ended. Destroying the task kills the
// jail. Errors are answers, see make_refusal() in execute_answer.h.
#pragma once
#include <memory>

#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/protocol/mcp/content.h"

namespace mcp {
class RequestContext;
}

namespace runs {

// The user of `context` is a tenants::Member. If the client chose an id (named_execution.h), the program runs at most
// once for it. All that is referred to must outlive the task.
Task<mcp::ToolResult> execute(ExecuteEnvironment& environment, mcp::RequestContext& context, Json arguments);

// ResumedExecution: a background execution that a restart of the daemon ended, and that is started again under a new
// id. Its answer is stored like the answer of any background execution.
struct ResumedExecution {
  workflows::StoredRun run;                 // its `execution` is the new id
  std::shared_ptr<tenants::Member> member;  // its client, admitted again
  Json arguments;                           // those of execute_code
};
// Returns when it has ended.
Task<> resume_execution(ExecuteEnvironment& environment, ResumedExecution execution);

}  // namespace runs
