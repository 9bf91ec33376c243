// Quota: how much a workspace may hold, in bytes and in files.
// Two ways to hold it: the kernel's project quota where the file system has one (set up by the privileged
// jailer with the functions at the end), and our own account, which is checked before each write of ours
// and counted again after executions. The account is always kept: it is what remaining() tells.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/tenants/walk.h"

namespace tenants {

struct QuotaLimits {
  uint64_t bytes = 0;
  uint64_t files = 0;  // files, folders, links: everything that takes an inode
};

struct Usage {
  uint64_t bytes = 0;
  uint64_t files = 0;
  std::string problem;  // why the count is not whole (a lower bound then); empty when it is
};

// What one entry costs. Sparse files cost what they occupy, preallocated ones too; small rounding of the
// file system is not charged. A hard-linked file costs once: the caller counts one of its names.
uint64_t charge_of(const Entry& entry);

// The account of one workspace. Plain numbers: the caller does the counting and the writing.
class Quota {
 public:
  Quota() = default;
  explicit Quota(QuotaLimits limits) : limits_(limits) {}

  const QuotaLimits& limits() const { return limits_; }
  void set_limits(QuotaLimits limits) { limits_ = limits; }
  const Usage& usage() const { return usage_; }
  void set_usage(Usage usage) { usage_ = std::move(usage); }
  QuotaLimits remaining() const;

  // May the workspace change by so much? What shrinks is always allowed.
  // Errors: exhausted, "writing 'a' needs 10 bytes, 3 of 100 are left in this workspace", with the rule; also
  // when the last count was not whole (too many files, unreadable folders), with the reason.
  Result<> check(std::string_view path, int64_t bytes, int64_t files) const;
  // Is it over its limits now? For the moment before and during an execution. Errors: exhausted.
  Result<> within() const;
  void add(int64_t bytes, int64_t files);

 private:
  QuotaLimits limits_;
  Usage usage_;
};

// Project quotas (ext4 with the project feature and prjquota, xfs with pquota, Linux 5.14 for quotactl_fd).
// They do not hold processes with CAP_SYS_RESOURCE in the initial user namespace: no jail has it.
// Callers need CAP_SYS_ADMIN in the initial user namespace for all but the first. No paths: descriptors only.
struct ProjectQuota {
  uint32_t project = 0;  // never 0: that is everybody's
  QuotaLimits limits;
};
// Are project limits enforced on the file system that holds `dirfd`? Errors: unavailable, saying what is missing.
Result<> project_quota_enforced(int dirfd);
// Marks a directory, so that what is made in it from now on belongs to `project`. It should be empty.
Result<> set_project(int dirfd, uint32_t project);
Result<uint32_t> project_of(int dirfd);
// Sets hard limits; bytes are rounded up to whole KiB, the kernel's unit.
Result<> set_project_limits(int dirfd, const ProjectQuota& quota);
Result<Usage> project_usage(int dirfd, uint32_t project);

}  // namespace tenants
