// Trees of files that other users may change meanwhile: a bounded walk, contents, links, modes. No link is followed,
// and no name leads out of the tree. All functions but remove_tree_in_turns() wait for the disk. Removal: TreeRemoval
// in path.h. Walks in slices for the event loop, which restore the owner's rights: tenants/index/walk.h. Errors: those
// of fail_path() in path.h.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "supervisor/base/path.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

class Loop;

// "/proc/self/fd/N": the only path to the same inode that an O_PATH descriptor holds.
std::string descriptor_path(int fd);
// Gives the owner all rights to an open folder (O_PATH suffices), as far as possible.
void allow_owner(int folder);

// TreeEntry: one entry while walk_tree() visits it.
struct TreeEntry {
  int folder;                 // the open folder that has the entry
  const std::string& name;    // in that folder
  const std::string& path;    // from the root of the tree
  const struct stat& status;  // of the entry; of a link itself
  unsigned depth;             // folders of the tree above the entry: 0 in the root
};
struct TreeBounds {
  uint64_t entries;
  unsigned depth;  // of folders within folders
};
enum class TreeBound { none, entries, depth };
// How a walk ended. `exceeded` is not `none`: the walk stopped at `folder` ("" is the root), whose entries were not
// visited.
struct TreeWalkEnd {
  TreeBound exceeded = TreeBound::none;
  std::string folder;
};
// fail: an entry that cannot be looked at or opened is an error. skip: it, or the contents of a folder, is left out;
// programs still write the tree.
enum class VanishedEntries { fail, skip };
using VisitEntry = std::function<Result<>(const TreeEntry& entry)>;
// Calls `visit` for each entry, a folder before its contents, by name within a folder. `tree`: open for reading.
// The first error of `visit` ends the walk.
Result<TreeWalkEnd> walk_tree(int tree, TreeBounds bounds, VanishedEntries vanished, const VisitEntry& visit);

// The target of the link `name` in an open folder; "" is the link that the descriptor holds. At most `max_bytes` of it.
// `path`: for messages.
Result<std::string> read_link_at(int folder, const std::string& name, std::string_view path, size_t max_bytes);
// Calls `use` with each part of a file, from the descriptor's position to the file's end. `path`: for messages.
Result<> read_parts(int file, std::string_view path, const std::function<Result<>(std::string_view part)>& use);
// Reads `size` bytes at `offset`, fewer only at the end of the file. -1: errno has the reason.
ssize_t read_fully_at(int file, char* bytes, size_t size, uint64_t offset);
// Whether two files have the same bytes. Errors: one of them cannot be read to its end.
Result<bool> have_same_bytes(int a, int b);

// Times of files, in nanoseconds since 1970.
int64_t nanoseconds_of(const timespec& time);
timespec file_time(int64_t nanoseconds);

// remove_tree_beneath() in turns of the loop, `slice` operations each. `dirfd` must stay open.
Task<Result<>> remove_tree_in_turns(Loop& loop, int dirfd, RelativePath path, unsigned slice);
