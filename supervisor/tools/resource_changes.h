// Resource changes: tells a tenant's clients which files of the workspace came, went or changed, when somebody asked to
// hear of it. Source: what a tool wrote, and what an execution changed once it has ended.
#pragma once
#include <string>

#include "supervisor/mcp/server.h"
#include "supervisor/tenants/changes.h"
#include "supervisor/tenants/tenant.h"

namespace tools {

// The user data of connections are tenants::Members.
void tell_changes(mcp::Server& server, const tenants::Tenant& tenant, const tenants::Changes& changes);
// One file, written or removed by name.
void tell_change(mcp::Server& server, const tenants::Tenant& tenant, const std::string& filename);

}  // namespace tools
