// Workspace quotas: lets the kernel enforce the workspaces' quotas, where the file system has project quotas. A tenant
// knows the project id of its workspace; the jailer may set the limits of projects. Used by: part.cc.
#pragma once
#include <memory>

#include "jail/jailer_client/jailer_client.h"
#include "supervisor/tenants/tenant.h"

// Sets the kernel's limits of the tenant's workspace. Does nothing if the workspace has no project, or if the limits
// are set already. A failure is logged. If the kernel has no earlier limits, the tenant leaves its project, and the
// daemon's own account of the workspace holds the quota. `jailer` must outlive the task.
Task<> hold_quota_by_kernel(jail::JailerClient& jailer, std::shared_ptr<tenants::Tenant> tenant);
