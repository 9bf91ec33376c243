// join_project(): sets up the kernel's project quota for a workspace, as a second limit behind the daemon's own count.
// The count (quota.h) is exact and refuses first, but it sees writes of a jail only when it counts again. The kernel
// refuses each write beyond its limit. A workspace has a project only if it was empty when it was first opened on a
// file system with project quotas. Used by: Tenant, supervisor/tenants/kernel_quota.cc. Errors: those of
// folder.h.
#pragma once
#include <cstdint>
#include <optional>

#include "supervisor/base/project_quota.h"
#include "supervisor/tenants/quota.h"

namespace tenants {

// Puts the directories into one project and returns it: kFirstProject + the inode of `workspace`, so that no two
// workspaces of a file system share a project. Files move between them: renames need one project. `unfinished` must be
// empty. `staging` has the staging folders of executions (supervisor/tenants/proposals). The directories may be in this
// project since an earlier start. nullopt: the file system has no project quotas, or the workspace or `staging` has
// another project, or it has no project and is not empty.
Result<std::optional<uint32_t>> join_project(int workspace, int unfinished, int staging);

// The kernel's limits for an account: the most disk space that files within the account's limits can take. A small file
// takes a whole block, and a file exists twice while it is replaced.
ProjectLimits wall_behind(QuotaLimits account);

}  // namespace tenants
