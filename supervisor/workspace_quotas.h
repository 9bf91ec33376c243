// Has the kernel hold the workspaces' quotas where it can: the tenants know which project each is, the jailer may set
// the limits of projects.
#pragma once
#include <memory>

#include "jail/jailer_client.h"
#include "supervisor/tenants/tenant.h"

// Nothing to do for a workspace without a project, or whose limits are set already. What does not work is logged, once
// for each workspace; its account holds it then. `jailer` must outlive the task.
Task<> hold_quota_by_kernel(jail::JailerClient& jailer, std::shared_ptr<tenants::Tenant> tenant);
