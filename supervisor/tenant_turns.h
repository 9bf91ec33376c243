// Tenant turns: what all parts do when a workspace is closed, or when it or its tenant is removed.
// Used by: moves of workspaces, the removal of tenants, supervisor/daemon/. No errors.
#pragma once
#include <string>

#include "supervisor/parts.h"

namespace tenants {
class Registry;
}

// The workspace's folder will have other contents, or will be gone. No program runs in it.
void close_tenant_workspace(const Parts& parts, const tenants::TenantId& id);
// Closes all workspaces of a tenant. May be called several times.
void close_tenant_account(const Parts& parts, const tenants::Registry& registry, const std::string& tenant);
// The tenant or named workspace was removed: its data in memory, and elsewhere in the state folder, is deleted.
void forget_tenant(const Parts& parts, const tenants::TenantId& id);
