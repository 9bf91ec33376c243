// Project quotas of the kernel: limits on all files that carry one number (ext4 with the project feature and prjquota,
// xfs with pquota; quotactl_fd(2), Linux 5.14).
// They do not hold processes with CAP_SYS_RESOURCE in the initial user namespace: no jail has it. No paths: descriptors
// only, and O_PATH will do where nothing else is said. Errors: unavailable where the file system or the kernel has
// none; or what the kernel said.
#pragma once
#include <cstdint>

#include "supervisor/base/result.h"

// Projects of ours have numbers from here on; what lies below is the administrator's (projid(5)).
constexpr uint32_t kFirstProject = 0x8000'0000;

// Are project limits enforced on the file system that holds `directory`? Errors: unavailable, saying what is missing.
Result<> project_quota_enforced(int directory);
// 0: none.
Result<uint32_t> project_of(int directory);
// Marks a directory of ours: what is made in it from now on belongs to `project`, and nothing of another one can be
// renamed into it (EXDEV). It should be empty. Needs to be its owner, in the initial user namespace.
Result<> set_project(int directory, uint32_t project);

struct ProjectLimits {
  uint64_t bytes = 0;   // of blocks; rounded up to whole KiB, the kernel's unit
  uint64_t inodes = 0;  // the marked directories count, too
};
// Sets hard limits on the file system of `directory`, which is open for reading. Needs CAP_SYS_ADMIN in the initial
// user namespace.
Result<> set_project_limits(int directory, uint32_t project, ProjectLimits limits);
