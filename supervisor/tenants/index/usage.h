// Usage: the bytes and files of a workspace, as its quota counts them. Source: the entries of a walk, or a FileTable.
// Used by: Snapshot, FileTable, Quota. No errors.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "supervisor/tenants/index/walk.h"

namespace tenants {

struct Usage {
  uint64_t bytes = 0;
  uint64_t files = 0;
  std::string problem;   // why the count is incomplete and only a lower bound; empty: it is complete
  uint64_t largest = 0;  // size of the largest file
};

// The bytes that one entry costs. Sparse and preallocated files cost the space that they occupy. Rounding of the file
// system up to 64 KiB is not charged. A hard-linked file costs once (UsageCount).
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

}  // namespace tenants
