// Asker: the tenant and the policy of one MCP request.
// Source: the connection's tenants::Member, and the workspace that the request names. Used by: the tools about the
// catalogue, upstream tools, skills and personal data. Errors: those of tenants::Registry::workspace.
#pragma once
#include <functional>
#include <memory>

#include "supervisor/mcp/server.h"
#include "supervisor/tenants/tenant.h"

namespace tools {

// Both stay the same while the request runs, also if a reload gives the connection another policy.
struct Asker {
  std::shared_ptr<tenants::Tenant> tenant;  // the tenant, or its named workspace
  std::shared_ptr<const policies::Policy> policy;
};

using AskerOf = std::function<Result<Asker>(const mcp::RequestContext&)>;

// Finds the tenant, or its named workspace, of a request.
using TenantOf = std::function<Result<std::shared_ptr<tenants::Tenant>>(mcp::RequestContext&)>;

}  // namespace tools
