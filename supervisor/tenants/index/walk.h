// Walk: lists the entries of a directory tree in slices, so that the event loop never waits for a large tree.
// Links are reported and never followed. A folder without the owner's permission bits gets them back. One descriptor is
// open at a time, at any depth. Used by the listing, the quota's count and the snapshots of changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/folder.h"
#include "supervisor/base/path.h"

namespace tenants {

enum class FileKind { file, directory, link, other };  // other: FIFO, socket, device
std::string_view kind_name(FileKind kind);

struct Entry {
  std::string path;  // from the tree's root, bytes as they are on disk: may not be UTF-8
  FileKind kind = FileKind::other;
  uint32_t mode = 0;   // permission bits
  uint32_t links = 0;  // names of this file
  uint64_t inode = 0;
  uint64_t size = 0;       // bytes
  uint64_t allocated = 0;  // bytes on disk; less than size for a sparse file
  int64_t mtime_ns = 0;    // since 1970; also ctime
  int64_t ctime_ns = 0;
  int64_t btime_ns = 0;  // creation; 0 where the file system does not say
};

struct WalkBounds {
  unsigned depth = kMaxPathComponents;  // 1: only the entries directly in the start folder
  uint64_t entries = 100'000;           // most entries to look at in the whole tree
};
// sorted: by name within each folder, a folder before its contents; the entries of each open folder stay in memory.
// any: in the order of the file system; only folders that are not visited yet stay in memory.
enum class WalkOrder { sorted, any };

// How many entries one slice handles: about 200 us with warm caches.
constexpr unsigned kSlice = 200;

class Walk {
 public:
  // `root` must stay open. Errors: those of opening `start` as a folder.
  static Result<Walk> begin(int root, const RelativePath& start, WalkBounds bounds, WalkOrder order);
  // Appends up to `slice` entries to `out`; true when the walk has ended.
  Result<bool> step(unsigned slice, std::vector<Entry>& out);
  // Why the walk did not see all entries within `bounds.depth`: "it holds more than 5000 files", "folder 'x' cannot be
  // read: ...". Empty: it saw all. Folders that vanished during the walk do not count.
  const std::string& missed() const { return missed_; }

 private:
  struct Frame {
    std::vector<Entry> entries;
    size_t next = 0;
    unsigned depth = 0;
  };
  Walk(int root, WalkBounds bounds, WalkOrder order) : root_(root), bounds_(bounds), order_(order) {}
  Result<> enter(const std::string& path, unsigned depth);
  Result<> read_entry(std::vector<Entry>& out);

  int root_;
  WalkBounds bounds_;
  WalkOrder order_;
  std::vector<Frame> stack_;
  FolderReader reading_;  // the folder whose frame is being filled
  std::string reading_path_;
  Frame filling_;
  uint64_t seen_ = 0;
  std::string missed_;
};

// Describes `name` in an open folder, a link itself; without its path. AT_EMPTY_PATH in `flags`: the open file itself.
// False: errno says why.
bool stat_entry(int folder, const char* name, int flags, Entry& entry);
// Gives the owner all rights to a folder, as far as possible: a program in a jail may have taken them away. `path`:
// from readdir(3), below `root`.
void restore_owner_rights(int root, const std::string& path);

// The entry of one path; a final link is described, not followed.
Result<Entry> describe(int root, const RelativePath& path);

}  // namespace tenants
