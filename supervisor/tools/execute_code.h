// The tool execute_code: an agent's program in a jail of its own, and the answer about it.
// Source: MCP tools/call. The connection's user data is a tenants::Member. Cancelling the call kills the jail.
#pragma once
#include <map>
#include <string>

#include "jail/host.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/admission.h"

namespace tools {

struct ExecuteEnvironment {  // must outlive the server
  jail::Host& host;
  Admission& admission;
  // Runner ids, one for each tenant from its first execution on: what the kernel counts by user is counted apart.
  std::map<std::string, uint32_t, std::less<>> slots = {};
};

void add_execute_code(mcp::Server& server, ExecuteEnvironment& environment);

}  // namespace tools
