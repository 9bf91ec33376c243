// Who asks for something by MCP. Source: the connection's member, and the workspace that the request names.
#pragma once
#include <functional>
#include <memory>

#include "supervisor/mcp/server.h"
#include "supervisor/tenants/tenant.h"

namespace tools {

// Both stay as they are while the request runs, whatever a reload makes of the connection.
struct Asker {
  std::shared_ptr<tenants::Tenant> tenant;  // or the named workspace of it
  std::shared_ptr<const policies::Policy> policy;
};

// Errors: those of tenants::Registry::workspace.
using AskerOf = std::function<Result<Asker>(const mcp::RequestContext&)>;

// The tenant, or its named workspace, that a request is for. Errors: those of tenants::Registry::workspace.
using TenantOf = std::function<Result<std::shared_ptr<tenants::Tenant>>(mcp::RequestContext&)>;

}  // namespace tools
