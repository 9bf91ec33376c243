// Workspace: the files of one tenant, seen from the daemon. Names come from agents and files from jails, so all access
// uses supervisor/base/path.h beneath one descriptor. Regular files with one name can be read and written. Links can be
// listed and removed, and are never followed. FIFOs, sockets and devices are never opened.
// Owned by: Tenant. Used by: supervisor/tools.
// Errors: invalid, not_found, denied, exhausted (quota), each with the path and a remedy.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/index/walk.h"
#include "supervisor/tenants/index/workspace_index.h"
#include "supervisor/tenants/quota.h"

namespace tenants {

struct FileRange {
  std::string bytes;
  uint64_t offset = 0;  // of the first byte
  uint64_t size = 0;    // of the whole file, with its gap
  struct Gap {
    uint64_t offset = 0, bytes = 0;
  };
  std::optional<Gap> gap = {};  // the middle of a long output, which is not stored
  bool more() const { return offset + bytes.size() < size; }
};
// Reads up to `limit` bytes from `offset` of an open regular file. Beyond the end of the file the range is empty.
Result<FileRange> read_range(int file, uint64_t offset, size_t limit);

enum class WriteMode { replace, append, create };
enum class Removal { one, recursive };

struct ListOptions {
  unsigned depth = kMaxPathComponents;  // 1: only the entries directly in the folder
  size_t limit = 1000;                  // entries in the answer
  enum class Folders { left_out, listed } folders = Folders::left_out;
};
struct Listing {
  std::vector<Entry> entries;  // sorted: by name within each folder, a folder before its contents
  bool more = false;           // the limit or a bound was reached
};

// What a workspace was when an execution began. While it exists, the execution is a writer.
struct WorkspaceBefore {
  std::unique_ptr<Writers::Turn> turn;  // nullptr: of a reader
  std::shared_ptr<ChangeLog> log;       // of the index; nullptr: there is a snapshot
  std::optional<Snapshot> snapshot;     // from a walk
  int64_t started_ns = 0;               // the file system's clock
};
// What has changed since then.
struct WorkspaceChanges {
  Changes changes;
  Changes meanwhile;            // of a time with several executions: of this one or of another one
  bool is_mixed = false;        // `meanwhile` is not known, and `changes` may have changes of other executions, too
  uint64_t readable_bytes = 0;  // sizes of all files, before or after, whichever are more
  std::vector<std::pair<uint64_t, std::string>> largest;  // sizes and paths of the largest files now
  std::string walked;                                     // why all folders were listed; empty: they were not
};

class Workspace {
 public:
  // `directory` is the workspace itself. `unfinished` is the folder for temporary names (new_file.h), on the same file
  // system. O_PATH descriptors are enough. The loop must outlive the workspace, and the workspace must outlive every
  // task it returned.
  Workspace(Loop& loop, Fd directory, Fd unfinished, QuotaLimits limits)
      : loop_(loop), directory_(std::move(directory)), unfinished_(std::move(unfinished)), quota_(limits) {}

  int directory() const { return directory_.get(); }

  Result<FileRange> read(const RelativePath& path, uint64_t offset, size_t limit) const;
  // The opened file, to be read elsewhere.
  Result<Fd> open_file(const RelativePath& path) const;
  Result<Entry> stat(const RelativePath& path) const { return describe(directory_.get(), path); }
  // Lists files, links and other entries; folders only with Folders::listed. Errors: not_found, and invalid when `path`
  // is no folder.
  Task<Result<Listing>> list(RelativePath path, ListOptions options);

  // Returns the new size in bytes. Missing folders are made. Replacing is atomic: readers see the old file or the new
  // one. After a failed write the old file is unchanged. A replaced file keeps its permission bits.
  Task<Result<uint64_t>> write(RelativePath path, std::string bytes, WriteMode mode);
  // Removes a file, a link or an empty folder. Removal::recursive also removes a folder with its contents. For the
  // workspace itself (".") it removes all entries, also those with names that no request can contain.
  Task<Result<>> remove(RelativePath path, Removal removal);

  // From now on an index follows the workspace: the functions below cost what has changed, and not what is there. Where
  // it cannot, they walk. The host must outlive the workspace. The workspace must not be moved any more.
  void follow(IndexHost& host);
  // nullptr: without follow().
  const WorkspaceIndex* index() const { return index_.get(); }
  bool is_indexed() const { return index_ && index_->is_following(); }
  // While a program keeps it, files that programs have opened are looked at in each look (workspace_index.h).
  std::shared_ptr<const void> watch_opened();

  // What is there, for changes_since(): the program begins after the one, and has ended before the other. Both also
  // update the account. Errors: those of Walk.
  Task<Result<WorkspaceBefore>> before(LogFor log_for = LogFor::writer);
  Task<Result<WorkspaceChanges>> changes_since(WorkspaceBefore before);

  // Around a change that no execution makes. An execution that runs meanwhile finds the change in `meanwhile`.
  Task<std::unique_ptr<Writers::Turn>> begin_writing();
  Task<> end_writing(std::unique_ptr<Writers::Turn> turn);

  // The account. Call invalidate() after another process (a jail) may have written: the next write then counts again.
  const Quota& quota() const { return quota_; }
  void set_limits(QuotaLimits limits) { quota_.set_limits(limits); }
  void set_held(Holder holder, QuotaLimits limits) { quota_.set_held(holder, limits); }
  void replace_part(Holder holder, QuotaLimits before, QuotaLimits now) { quota_.replace_part(holder, before, now); }
  void invalidate() { stale_ = true; }
  // Counts all files, and updates the account. Called while an execution runs, to enforce the quota.
  Task<Result<Usage>> measure();
  // Calls measure() if another process may have written since the last count.
  Task<Result<>> count();

 private:
  struct Target;
  Task<Result<Snapshot>> snapshot();
  bool begin_index();
  bool take(const IndexScan& check, uint64_t changes_before);
  Task<Result<Usage>> walk_and_count();
  Result<> restore_mode() const;
  Task<Result<>> empty();
  Task<Result<>> remove_folder(RelativePath path);
  Result<Target> examine(const RelativePath& path, WriteMode mode) const;
  Result<uint64_t> write_now(const RelativePath& path, std::string_view bytes, WriteMode mode);
  Result<> append(const RelativePath& path, std::string_view bytes);
  Result<> put(int parent, const RelativePath& path, std::string_view bytes, const Target& target, WriteMode mode);

  Loop& loop_;
  Fd directory_, unfinished_;
  Quota quota_;
  bool stale_ = true;     // the files were never counted, or another process may have written
  uint64_t changes_ = 0;  // number of changes that this object made
  std::unique_ptr<Writers> writers_ = std::make_unique<Writers>();
  std::unique_ptr<WorkspaceIndex> index_;
};

}  // namespace tenants
