// Quota: the limits of a workspace, in bytes and in files, and the count of its usage.
// The daemon checks the count before each write that it makes, and counts again during and after executions. On a file
// system with project quotas, the kernel has a second limit (project.h). Used by: Workspace.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/tenants/index/usage.h"

namespace tenants {

struct QuotaLimits {
  uint64_t bytes = 0;
  uint64_t files = 0;  // files, folders, links: all entries that take an inode
  bool operator==(const QuotaLimits&) const = default;
};

// Writes that a quota refused since the start, in all workspaces, by the limit. Counted by Quota::check().
struct QuotaRefusals {
  uint64_t bytes = 0, files = 0;
};
QuotaRefusals quota_refusals();

// What a workspace's tenant has outside of it, and what counts in its quota.
// unnamed: files without a name that processes of jails hold.
enum class Holder { proposals, workflows, unnamed };
constexpr size_t kHolders = 3;

// The account of one workspace. It holds numbers only: the caller counts and writes the files.
class Quota {
 public:
  Quota() = default;
  explicit Quota(QuotaLimits limits) : limits_(limits) {}

  const QuotaLimits& limits() const { return limits_; }
  void set_limits(QuotaLimits limits) { limits_ = limits; }
  const Usage& usage() const { return usage_; }
  void set_usage(Usage usage) { usage_ = std::move(usage); }
  // What is held beside the workspace: it counts within the limits, and is no part of usage().
  const QuotaLimits& held_by(Holder holder) const { return held_limits_[static_cast<size_t>(holder)]; }
  void set_held(Holder holder, QuotaLimits limits) { held_limits_[static_cast<size_t>(holder)] = limits; }
  // For a holder with several parts: replaces what one of them has held.
  void replace_part(Holder holder, QuotaLimits before, QuotaLimits now);
  QuotaLimits remaining() const;

  // Whether the workspace may change by `bytes` and `files`. A change that adds neither is always allowed.
  // Errors: exhausted, "writing 'a' needs 10 bytes more, 3 of 100 are left in this workspace", with the rule; also when
  // the last count is incomplete (too many files, unreadable folders), with the reason.
  Result<> check(std::string_view path, int64_t bytes, int64_t files) const;
  // Checks that the workspace is within its limits now. Called before and during an execution. Errors: exhausted.
  Result<> within() const;
  void add(int64_t bytes, int64_t files);

 private:
  uint64_t bytes() const;
  uint64_t files() const;

  QuotaLimits limits_;
  std::array<QuotaLimits, kHolders> held_limits_ = {};
  Usage usage_;
};

}  // namespace tenants
