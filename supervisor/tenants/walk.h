// Walk: what is in a directory tree, in slices, so that the event loop never waits for a large tree.
// Links are reported and never followed; a folder that its owner closed is opened for the owner again; one descriptor
// is open at a time, whatever the depth. Used by the listing, the quota's count and the snapshots of changes.
#pragma once
#include <dirent.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  unsigned depth = kMaxPathComponents;  // 1: only what is directly in the start folder
  uint64_t entries = 100'000;           // looked at, in all
};
// sorted: by name within each folder, a folder before its contents; holds the entries of the folders on the
// way. any: as the file system lists them, holds the folders still to be visited only.
enum class WalkOrder { sorted, any };

// How many entries one slice handles: about 200 us with warm caches.
constexpr unsigned kSlice = 200;

class Walk {
 public:
  // `root` must stay open. Errors: those of opening `start` as a folder.
  static Result<Walk> begin(int root, const RelativePath& start, WalkBounds bounds, WalkOrder order);
  // Appends up to `slice` entries to `out`; true when the walk has ended.
  Result<bool> step(unsigned slice, std::vector<Entry>& out);
  // Empty when everything within `bounds.depth` was seen. Else why not: "it holds more than 5000 files",
  // "folder 'x' cannot be read: ...". Folders that vanished meanwhile do not count.
  const std::string& missed() const { return missed_; }

 private:
  struct Frame {
    std::vector<Entry> entries;
    size_t next = 0;
    unsigned depth = 0;
  };
  struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  Walk(int root, WalkBounds bounds, WalkOrder order) : root_(root), bounds_(bounds), order_(order) {}
  Result<> enter(const std::string& path, unsigned depth);
  void restore_mode(const std::string& path) const;
  Result<> read_one(std::vector<Entry>& out);

  int root_;
  WalkBounds bounds_;
  WalkOrder order_;
  std::vector<Frame> stack_;
  std::unique_ptr<DIR, CloseDir> reading_;  // the folder whose frame is being filled
  std::string reading_path_;
  Frame filling_;
  uint64_t seen_ = 0;
  std::string missed_;
};

// The entry of one path; a final link is described, not followed.
Result<Entry> describe(int root, const RelativePath& path);

}  // namespace tenants
