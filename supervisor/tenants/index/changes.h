// Snapshot and Changes: which files an execution created, modified and deleted in a workspace. Files that interpreters
// cache (__pycache__) are not listed.
// Source: two walks of the workspace, before and after, in slices of the event loop, each with a bound of entries. Used
// by: Workspace, supervisor/tools. Beyond the bound, Changes says that it is not complete, and lists the changes that
// the files' times still prove. Errors: those of Walk.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/tenants/index/usage.h"
#include "supervisor/tenants/index/walk.h"

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
  int64_t before_walk_ns = 0;          // the file system's clock before the walk began
  Usage usage;                         // of the files that the walk saw
  bool complete = true;                // false: the walk did not see all files (Walk::missed())
};

// FolderCounts: files that a list of paths has no room for, by the folder that they are in: that of a tool
// (interpreter_files.h), or the first one of the path, with its slash. Of many folders only some are counted.
class FolderCounts {
 public:
  void add(std::string_view path);
  void add(const FolderCounts& more);
  const std::map<std::string, uint64_t>& folders() const { return folders_; }  // names in valid UTF-8

 private:
  std::map<std::string, uint64_t> folders_;
};

// Whether a list of paths, in which `managed` paths of tools' folders stand already, has room for this one.
class ListRoom {
 public:
  bool take(std::string_view path, size_t listed, size_t max_listed);

 private:
  size_t managed_ = 0;
};

struct Changes {
  struct List {
    std::vector<std::string> paths;  // sorted; valid UTF-8
    uint64_t omitted = 0;            // changes that are not in `paths`
    FolderCounts beyond;             // where these are; fewer, if they are in very many folders
    // In the order of the paths. Leaves out what interpreters make for themselves.
    void add(const std::string& path, size_t max_listed);

   private:
    ListRoom room_;
  };
  List created, modified, deleted;
  bool complete = true;  // false: deletions, and some changes of files beyond the bound, are not known
  bool empty() const { return created.paths.empty() && modified.paths.empty() && deleted.paths.empty(); }
  // Adds those of another time or writer; the lists are not sorted any more.
  void append(Changes more);
};

constexpr uint64_t kSnapshotEntries = 5000;
constexpr size_t kListedChanges = 200;
constexpr size_t kListedLargest = 4;

// The clock that the kernel uses for the times of files: the time of the last tick, in nanoseconds since 1970. Since
// Linux 6.13 a file may have a time that is up to a tick later (multigrain timestamps).
int64_t coarse_now_ns();

// `directory` must stay open until the task is done.
Task<Result<Snapshot>> take_snapshot(Loop& loop, int directory, uint64_t max_entries = kSnapshotEntries);
Changes compare(const Snapshot& before, const Snapshot& after, size_t max_listed = kListedChanges);

}  // namespace tenants
