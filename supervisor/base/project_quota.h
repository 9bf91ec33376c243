// Project quotas of the kernel: limits on all files that carry the same project number (ext4 with the project feature
// and prjquota, xfs with pquota; quotactl_fd(2), Linux 5.14).
// The limits do not apply to processes with CAP_SYS_RESOURCE in the initial user namespace: no jail has it. The
// functions take descriptors, not paths. An O_PATH descriptor suffices, unless a comment below says otherwise. Used by:
// the jailer, supervisor/tenants, supervisor/operations/doctor.
// Errors: unavailable where the file system or the kernel has no project quotas; or the kernel's error.
#pragma once
#include <cstdint>

#include "supervisor/base/result.h"

// Project numbers of this program begin here; the numbers below belong to the administrator (projid(5)).
constexpr uint32_t kFirstProject = 0x8000'0000;

// Checks that project limits are enforced on the file system that holds `directory`. Errors: unavailable, naming the
// missing feature.
Result<> project_quota_enforced(int directory);
// The project number of a directory; 0: no project.
Result<uint32_t> project_of(int directory);
// Marks a directory of this program: files made in it from now on belong to `project`, and no file of another project
// can be renamed into it (EXDEV). The directory should be empty. The caller must be its owner, in the initial user
// namespace.
Result<> set_project(int directory, uint32_t project);

// The hard limits of a project, which the jailer sets: jail/jailer/project_limits.h.
struct ProjectLimits {
  uint64_t bytes = 0;   // disk space in blocks; rounded up to whole KiB, the kernel's unit
  uint64_t inodes = 0;  // marked directories count, too
};
