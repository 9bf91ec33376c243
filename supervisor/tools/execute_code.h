// The tool execute_code: an agent's program in a jail of its own, and the answer about it.
// Source: MCP tools/call. The connection's user data is a tenants::Member. Cancelling the call kills the jail.
#pragma once
#include "jail/host.h"
#include "jail/pool.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/admission.h"
#include "supervisor/tools/catalog_tools.h"
#include "supervisor/tools/execution_registry.h"
#include "supervisor/tools/guest_calls.h"
#include "supervisor/tools/sessions.h"
#include "supervisor/tools/workspace_tools.h"
#include "supervisor/traces/queue.h"

namespace tools {

struct ExecuteEnvironment {  // must outlive the server
  jail::Host& host;
  Admission& admission;
  ExecutionRegistry& executions;
  jail::Pool& pool;
  Sessions& sessions;
  const GuestCalls& calls;
  journal::Journal& journal;
  CatalogOf catalog_of;
  TenantOf tenant_of;
  std::function<void(const tenants::Tenant&, const tenants::Changes&)> files_changed;
  traces::Queue* spans = nullptr;  // nullptr: none are recorded
};

// What the policy's executions of that language run in, under these limits.
jail::Spec make_spec(const policies::Policy& policy, jail::Language language, const policies::Limits& limits);

void add_execute_code(mcp::Server& server, ExecuteEnvironment& environment);

}  // namespace tools
