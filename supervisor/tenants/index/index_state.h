// IndexState: a FileTable that follows a workspace on disk. step() reads what inotify tells, and looks again at each
// name that an event names: the event says where, the disk says what. So the order of events, and what changes while it
// looks, do not matter: the last look at a name comes after the last event of it.
//   A new folder is watched first and listed then. A folder that has moved is known by its inode.
//   After a lost event (IN_Q_OVERFLOW), and where no more folders can be watched, all folders are listed again.
//   A file with several names, or with holes, changes without an event of each name: it is looked at with each step.
//   While a program runs on between executions, files that it has opened may be mapped: they are looked at again, too.
// Owned by: WorkspaceIndex. Runs on the loop's thread or on a worker thread, never on both at once. Names come from
// jails: all access is by supervisor/base/path.h below the workspace's descriptor.
// Errors: those of open(). Later errors make the table unusable for ever: unusable() says why, and Workspace walks.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/result.h"
#include "supervisor/tenants/index/file_table.h"
#include "supervisor/tenants/index/folder_watches.h"

namespace tenants {

class IndexState {
 public:
  struct Bounds {
    uint64_t files = 1'000'000;  // more make the index unusable
  };

  // `directory`: of the workspace, O_PATH is enough. Errors: unavailable (the file system does not report changes),
  // and those of FolderWatches.
  static Result<std::unique_ptr<IndexState>> open(int directory, std::shared_ptr<WatchShares> shares, Bounds bounds);

  // Whether a look that begins now has much to do, also if no file has changed: more than about `operations` looks at
  // files.
  bool is_large_look(size_t operations) const;
  // Before the steps that are to see everything that has happened until now. Its cost is that of is_large_look().
  void begin_scan();
  // Does at most about `operations` looks at files. True: the table has everything that happened before begin_scan().
  // What happens later belongs to the next look, so that a look ends while a program never stops to write.
  enum class On { loop, worker };  // loop: false also where one step would go through all files
  bool step(size_t operations, On on = On::worker);

  // Why the table cannot follow the workspace; empty: it can. It stays so.
  const std::string& unusable() const { return unusable_; }
  // The last look listed all folders again, for this reason; empty: it did not.
  const std::string& walked() const { return walked_; }
  // From now on, files that are opened or written are looked at again in each look, until `living` expires.
  void set_living(std::weak_ptr<const void> living);

  FileTable& table() { return table_; }
  uint64_t watches() const { return watches_.count(); }

  ~IndexState();

 private:
  using Name = std::pair<FolderId, std::string>;
  enum class Work { list, list_deep, watch_opens };  // list_deep: and all folders below
  struct Job {
    FolderId id;
    Work work;
  };
  struct Listing {  // the folder in work
    FolderId id;
    bool deep;
    FolderReader reader;
    std::unordered_set<std::string> missing;  // names of the table that the listing has not had
  };
  IndexState(Fd directory, uint64_t inode, FolderWatches watches, Bounds bounds)
      : directory_(std::move(directory)), table_(inode), watches_(std::move(watches)), bounds_(bounds) {}

  void take(const FolderWatches::Event& event);
  void ended(FolderId id);
  void check_all(const char* why);
  void mark(FolderId folder, const std::string& name) { dirty_.emplace(folder, name); }
  void mark_position_of(FolderId folder);
  void mark_names_of(uint64_t inode);
  void mark_linked_below(FolderId top);
  void look_at_dirty(size_t& operations);
  void do_jobs(size_t& operations);
  void find_other_names();
  void drop_detached();
  void unpark();

  enum class Opened { yes, absent, elsewhere };
  Opened open_folder(FolderId id, int flags, Fd& folder);
  Opened begin(const Job& job);
  bool watch(FolderId id, int folder);
  void inspect(FolderId folder, int folder_fd, const std::string& name, bool deep);
  bool moves_tree(FolderId folder, const std::string& name, const Entry* entry) const;
  void forget(FolderId folder, const std::string& name);
  void detach(FolderId id);
  void put_folder(FolderId parent, const std::string& name, const Entry& entry, bool deep);
  void put_file(FolderId folder, const std::string& name, const Entry& entry);
  void give_up(std::string why);

  Fd directory_;
  FileTable table_;
  FolderWatches watches_;
  Bounds bounds_;
  std::unordered_map<int, FolderId> of_watch_;
  size_t backlog_ = 0;  // bytes of events from before begin_scan()
  std::set<Name> dirty_;
  std::vector<Job> jobs_;
  std::optional<Listing> listing_;
  std::vector<FolderId> detached_;
  // For folders that were not where the table has them: until their place is known again.
  std::set<Name> parked_;
  std::vector<Job> parked_jobs_;
  std::set<uint64_t> nameless_;          // inodes whose other names are to be found
  std::set<uint64_t> linked_elsewhere_;  // inodes with names that the table cannot have
  std::set<Name> opened_;                // while a program runs on
  std::weak_ptr<const void> living_;
  bool with_opens_ = false;
  bool has_all_watches_ = true;
  On on_ = On::worker;         // of the step under way
  bool needs_worker_ = false;  // it would take too long on the loop
  std::string walked_, unusable_;
};

}  // namespace tenants
