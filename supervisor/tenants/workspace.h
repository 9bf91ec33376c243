// Workspace: the files of one tenant, seen from the daemon. Every name is an agent's, every file a jail's:
// all access is by supervisor/base/path.h beneath one descriptor. Regular files with one name are read and
// written; links are listed and removable but never followed; FIFOs, sockets and devices are never opened.
// Errors: invalid, not_found, denied, exhausted (quota), each with the path and a remedy.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/changes.h"
#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/walk.h"

namespace tenants {

struct FileRange {
  std::string bytes;
  uint64_t offset = 0;  // of the first byte
  uint64_t size = 0;    // of the whole file
  bool more() const { return offset + bytes.size() < size; }
};
// Reads up to `limit` bytes from `offset` of an open regular file; beyond the end: no bytes.
Result<FileRange> read_range(int file, uint64_t offset, size_t limit);

enum class WriteMode { replace, append, create };
enum class Removal { one, recursive };

struct ListOptions {
  unsigned depth = kMaxPathComponents;  // 1: not below the folder itself
  size_t limit = 1000;                  // entries in the answer
  enum class Folders { left_out, listed } folders = Folders::left_out;
};
struct Listing {
  std::vector<Entry> entries;  // sorted: by name within each folder, a folder before its contents
  bool more = false;           // the limit or a bound was reached
};

class Workspace {
 public:
  // `directory` is the workspace itself, `unfinished` the folder of files that are not in their place yet, on the same
  // file system (O_PATH will do for both). The loop must outlive the workspace, and the workspace every task it
  // returned.
  Workspace(Loop& loop, Fd directory, Fd unfinished, QuotaLimits limits)
      : loop_(loop), directory_(std::move(directory)), unfinished_(std::move(unfinished)), quota_(limits) {}

  int directory() const { return directory_.get(); }

  Result<FileRange> read(const RelativePath& path, uint64_t offset, size_t limit) const;
  Result<Entry> stat(const RelativePath& path) const { return describe(directory_.get(), path); }
  // Files, links and others, not the folders themselves. Errors: not_found and invalid when `path` is no folder.
  Task<Result<Listing>> list(RelativePath path, ListOptions options);

  // The new size. Missing folders are made. Replacing is atomic: readers see the old file or the new one;
  // a failed write leaves what was there. A replaced file keeps its permission bits.
  Task<Result<uint64_t>> write(RelativePath path, std::string bytes, WriteMode mode);
  // A file, a link or an empty folder; with Removal::recursive also a folder with everything in it, and of the
  // workspace itself (".") everything that is in it, whatever its name.
  Task<Result<>> remove(RelativePath path, Removal what);

  // A complete one counts the account, too.
  Task<Result<Snapshot>> snapshot();

  // The account. invalidate() after somebody else (a jail) may have written: the next write counts again.
  const Quota& quota() const { return quota_; }
  void set_limits(QuotaLimits limits) { quota_.set_limits(limits); }
  void invalidate() { stale_ = true; }
  // Counts everything, in slices. For while an execution runs, to hold the quota.
  Task<Result<Usage>> measure();
  // The same, unless nobody can have written since it was counted last.
  Task<Result<>> count();

 private:
  struct Target;
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
  bool stale_ = true;     // the account was never counted, or somebody else wrote
  uint64_t changes_ = 0;  // of the account, by us
};

}  // namespace tenants
