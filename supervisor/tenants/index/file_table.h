// FileTable: the files of one workspace as a tree of folders in memory: a stamp of each file, the sum of their charges,
// and the files that changed since a moment (ChangeLog). It holds data only. IndexState looks at the disk.
// Memory: 180 to 185 bytes for each of 200,000 files (tests/bench/workspace_size.py).
// Owned by: WorkspaceIndex. One thread at a time. No errors: the caller gives it facts.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "supervisor/tenants/index/change_log.h"
#include "supervisor/tenants/index/largest_files.h"
#include "supervisor/tenants/index/usage.h"
#include "supervisor/tenants/index/walk.h"

namespace tenants {

using FolderId = uint32_t;  // never used twice

class FileTable {
 public:
  static constexpr FolderId kRoot = 0, kNone = UINT32_MAX;
  static constexpr int kNoWatch = -1;

  struct Folder {
    FolderId parent = kNone;  // kNone: the root, and folders that detach() has taken out
    std::string name;
    uint64_t inode = 0;
    int watch = kNoWatch;
    unsigned depth = 0;                                // 0: the root
    std::unordered_map<std::string, FileStamp> files;  // files, links and special files
    std::unordered_map<std::string, FolderId> folders;
  };

  explicit FileTable(uint64_t root_inode);

  // nullptr: the folder does not exist, or no longer.
  Folder* find(FolderId id);
  const Folder* find(FolderId id) const { return const_cast<FileTable*>(this)->find(id); }
  FolderId folder_of_inode(uint64_t inode) const;  // kNone: unknown
  // From the root, "" for it; without a slash at the end.
  std::string path_of(FolderId id) const;

  // Whether its parents lead to the root.
  bool is_attached(FolderId id) const;
  bool is_below(FolderId id, FolderId above) const;  // or the same
  // A folder's name must be free in its parent.
  FolderId add_folder(FolderId parent, std::string name, uint64_t inode);
  // Takes a folder out of its parent: its files count no longer. attach() puts it somewhere, drop() forgets it.
  void detach(FolderId id);
  void attach(FolderId id, FolderId parent, std::string name);
  // Forgets a detached folder and all below it. `dropped` is called with each folder.
  void drop(FolderId id, const std::function<void(const Folder&)>& dropped);

  void put_file(FolderId folder, const std::string& name, const FileStamp& stamp);
  void remove_file(FolderId folder, const std::string& name);

  // All names of an inode with several names that the table knows. nullptr: absent.
  struct Names {
    std::vector<std::pair<FolderId, std::string>> known;
    FileStamp stamp;  // the latest
    uint64_t charge = 0;
  };
  const Names* names_of(uint64_t inode) const;
  const std::unordered_map<uint64_t, Names>& linked() const { return linked_; }
  void each_file(const std::function<void(FolderId, const std::string&, const FileStamp&)>& visit) const;
  std::vector<FolderId> all_folders() const;
  // Files that occupy less than their size: writing to their holes through mmap(2) makes no event.
  std::vector<std::pair<FolderId, std::string>> sparse_files() const;
  size_t sparse_count() const { return sparse_count_; }

  // Before usage() and largest(): find_largest() goes through all files, where too many of the largest have gone.
  bool knows_largest() const { return largest_.knows(kListedLargest); }
  void find_largest();
  // `problem` is not set.
  Usage usage() const;
  uint64_t size() const { return size_; }    // sum of all files' sizes, in bytes
  uint64_t count() const { return files_; }  // files, folders, links
  // Sizes and paths of the kListedLargest largest files, largest first.
  std::vector<std::pair<uint64_t, std::string>> largest() const;

  // The log gets all changes from now on, for as long as the caller keeps it.
  std::shared_ptr<ChangeLog> begin_log();
  // Whether more than one writer was there when the next changes were made.
  void set_contended(bool contended) { contended_ = contended; }
  // The changes of the log's time.
  LoggedChanges changes(const ChangeLog& log, size_t max_listed) const;

 private:
  const FileStamp* find_file(const std::string& path) const;
  void count_in(FolderId folder, const std::string& name, const FileStamp& stamp);
  void count_out(FolderId folder, const std::string& name, const FileStamp& stamp);
  void note(FolderId folder, const std::string& name, const FileStamp* old);
  template <class Visit>
  void each_below(FolderId top, Visit visit);

  std::unordered_map<FolderId, Folder> folders_;
  std::unordered_map<uint64_t, FolderId> of_inode_;
  std::unordered_map<uint64_t, Names> linked_;
  std::unordered_map<FolderId, std::unordered_set<std::string>> sparse_;
  LargestFiles largest_;
  FolderId next_ = kRoot;
  uint64_t bytes_ = 0, files_ = 0, size_ = 0;
  size_t sparse_count_ = 0;
  bool contended_ = false;
  std::vector<std::weak_ptr<ChangeLog>> logs_;
};

}  // namespace tenants
