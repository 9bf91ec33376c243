// The tool execute_code: runs an agent's program in its own jail and answers with its result. This file has its
// definition; supervisor/executions/runs/ runs it.
// Source: MCP tools/call. Used by: supervisor/daemon/. A cancelled call kills the jail.
#pragma once
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/protocol/mcp/server.h"

namespace tools {

// The user of each connection is a tenants::Member.
void add_execute_code(mcp::Server& server, runs::ExecuteEnvironment& environment);

}  // namespace tools
