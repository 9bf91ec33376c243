// Quota: how much a workspace may hold, in bytes and in files.
// Held by our own account, which is checked before each write of ours and counted again during and after executions;
// where the file system can, the kernel holds a wall behind it as well (project.h).
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/tenants/walk.h"

namespace tenants {

struct QuotaLimits {
  uint64_t bytes = 0;
  uint64_t files = 0;  // files, folders, links: everything that takes an inode
  bool operator==(const QuotaLimits&) const = default;
};

struct Usage {
  uint64_t bytes = 0;
  uint64_t files = 0;
  std::string problem;   // why the count is not whole (a lower bound then); empty when it is
  uint64_t largest = 0;  // size of the largest file
};

// What one entry costs. Sparse files cost what they occupy, preallocated ones too; small rounding of the
// file system is not charged. A hard-linked file costs once (UsageCount).
uint64_t charge_of(const Entry& entry);

// Adds up entries of one walk.
class UsageCount {
 public:
  void add(const Entry& entry);
  const Usage& usage() const { return usage_; }

 private:
  Usage usage_;
  std::set<uint64_t> linked_;  // inodes with several names, counted once
};

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

}  // namespace tenants
