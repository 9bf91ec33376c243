// Project: the kernel's wall behind the account of a workspace. The account (quota.h) is exact and speaks first, but
// what a jail writes it only sees when it looks; behind it, nothing is written any more where the kernel refuses it.
// Only workspaces that were empty when they first met a file system with project quotas have one.
#pragma once
#include <cstdint>
#include <optional>

#include "supervisor/base/project_quota.h"
#include "supervisor/tenants/quota.h"

namespace tenants {

// The project that holds both directories, now or since an earlier start: kFirstProject + the inode of `workspace`,
// so that no two workspaces of a file system share one. `unfinished` must be empty. Nothing: the file system has no
// project quotas, the directory has a project of somebody else, or files that were there before.
std::optional<uint32_t> join_project(int workspace, int unfinished);

// What the kernel is to refuse: all that the account allows, at its largest. Small files take a block each, and a file
// that is being replaced is there twice.
ProjectLimits wall_behind(QuotaLimits account);

}  // namespace tenants
