// The tool execute_code: runs an agent's program in its own jail and answers with its result.
// Source: MCP tools/call. Used by: supervisor/daemon/. The connection's user data is a tenants::Member. A cancelled
// call kills the jail. Errors are answers, see make_refusal() in execute_answer.h.
#pragma once
#include "jail/host.h"
#include "jail/pool.h"
#include "supervisor/calls/guest_calls.h"
#include "supervisor/calls/upstream_call.h"
#include "supervisor/egress/egress_link.h"
#include "supervisor/executions/admission.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/server.h"
#include "supervisor/proposals/proposal_stores.h"
#include "supervisor/tasks/task_store.h"
#include "supervisor/tools/catalog/catalog_tools.h"
#include "supervisor/tools/workspace/workspace_tools.h"
#include "supervisor/traces/queue.h"
#include "supervisor/workflows/workflow_store.h"

namespace tools {

// ExecuteEnvironment: the dependencies of execute_code. Must outlive the server.
struct ExecuteEnvironment {
  jail::Host& host;
  executions::Admission& admission;
  executions::ExecutionRegistry& executions;
  executions::RecentCode& recent_code;
  jail::Pool& pool;
  executions::Sessions& sessions;
  const calls::GuestCalls& calls;
  calls::CallEnvironment& upstream_calls;
  egress::EgressLink& egress;
  journal::Journal& journal;
  tasks::TaskStore& tasks;
  tasks::TaskStore& named;  // named_execution.h
  workflows::WorkflowStore& workflows;
  discovery::CatalogOf catalog_of;
  tenants::RequesterOf requester_of;
  tenants::RequesterOf stateless_requester_of;  // Registry::stateless_requester()
  proposals::ProposalStores& proposals;
  std::function<void(const tenants::Tenant&, const tenants::Changes&)> files_changed;
  traces::Queue* spans = nullptr;  // nullptr: no spans are recorded
};

void add_execute_code(mcp::Server& server, ExecuteEnvironment& environment);

// ResumedExecution: a background execution that a restart of the daemon ended, and that is started again under a new
// id. Its answer is stored like the answer of any background execution.
struct ResumedExecution {
  workflows::StoredRun run;                 // its `execution` is the new id
  std::shared_ptr<tenants::Member> member;  // its client, admitted again
  Json arguments;                           // those of execute_code
};
// Returns when it has ended.
Task<> resume_execution(ExecuteEnvironment& environment, ResumedExecution again);

}  // namespace tools
