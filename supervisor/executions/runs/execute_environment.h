// ExecuteEnvironment: the parts of the daemon that a call of execute_code uses.
// Source: supervisor/daemon/. Used by: all files of this folder, and the tool execute_code.
#pragma once
#include <functional>

#include "jail/host.h"
#include "jail/pool/pool.h"
#include "supervisor/executions/admission.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/runs/execution_network.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/spans/queue.h"
#include "supervisor/records/workflows/workflow.h"
#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/upstream/calls/guest_calls.h"
#include "supervisor/upstream/calls/upstream_call.h"
#include "supervisor/upstream/discovery/catalog_watch.h"

namespace runs {

// Must outlive the server.
struct ExecuteEnvironment {
  jail::Host& host;
  executions::Admission& admission;
  executions::ExecutionRegistry& executions;
  executions::RecentCode& recent_code;
  jail::Pool& pool;
  executions::Sessions& sessions;
  const calls::GuestCalls& calls;
  calls::CallEnvironment& upstream_calls;
  NetworkSource* network;  // nullptr: Warder was built without egress
  journal::Journal& journal;
  tasks::TaskStore& tasks;
  tasks::TaskStore& named;  // named_execution.h
  workflows::WorkflowDisk& workflows;
  discovery::CatalogOf catalog_of;
  tenants::RequesterOf requester_of;
  tenants::RequesterOf stateless_requester_of;  // Registry::stateless_requester()
  proposals::ProposalStores& proposals;
  std::function<void(const tenants::Tenant&, const tenants::Changes&)> files_changed;
  // Why no program may begin now; nullopt: programs may begin. Empty: they always may.
  std::function<std::optional<Error>()> refusal;
  spans::Queue* spans = nullptr;  // nullptr: no spans are recorded
};

}  // namespace runs
