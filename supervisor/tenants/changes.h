// Snapshot and changes: which files an execution created, modified and deleted in a workspace.
// What interpreters keep for themselves (__pycache__) is none of them.
// Taken before and after; bounded in entries and in slices of the event loop. Beyond the bound the answer
// says that it is not complete and tells what the times of the files still prove.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/walk.h"

namespace tenants {

struct Stamp {
  uint64_t size = 0;
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;  // cannot be set back by the jail
  int64_t btime_ns = 0;
  bool operator==(const Stamp&) const = default;
};

struct Snapshot {
  std::map<std::string, Stamp> files;  // by path, bytes as on disk; folders are not files
  int64_t taken_ns = 0;                // the file system's clock before the walk began
  Usage usage;                         // of what was seen
  bool complete = true;                // false: more entries than the bound
};

struct Changes {
  struct List {
    std::vector<std::string> paths;  // sorted; valid UTF-8
    uint64_t omitted = 0;            // more than these
  };
  List created, modified, deleted;
  bool complete = true;  // false: deletions and files beyond the bound are not known
  bool empty() const { return created.paths.empty() && modified.paths.empty() && deleted.paths.empty(); }
};

constexpr uint64_t kSnapshotEntries = 5000;
constexpr size_t kListedChanges = 200;

// `directory` must stay open until the task is done.
Task<Result<Snapshot>> take_snapshot(Loop& loop, int directory, uint64_t max_entries = kSnapshotEntries);
Changes compare(const Snapshot& before, const Snapshot& after, size_t max_listed = kListedChanges);

}  // namespace tenants
