// set_project_limits(): hard limits on the disk space and the inodes of one project. The limits do not apply to
// processes with CAP_SYS_RESOURCE in the initial user namespace: no jail has it.
// Source: quotactl_fd(2), Linux 5.14. Used by: jail/jailer/jailer.cc.
#pragma once
#include "supervisor/base/project_quota.h"

namespace jail {

// The limits are set on the file system of `directory`, which must be open for reading. The caller needs CAP_SYS_ADMIN
// in the initial user namespace. Returns 0 or a positive errno.
int set_project_limits(int directory, uint32_t project, ProjectLimits limits);

}  // namespace jail
