// Access to the entries of a workspace and of a staging folder by paths of any bytes. readdir(3) gave the names, or a
// record of this folder (record_lines.h) did. Every path is opened with open_listed_beneath(): beneath a descriptor,
// and through no symbolic link. Used by: all files of this folder. Errors: those of base/path.h; a path in a message is
// valid UTF-8.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/tenants/index/walk.h"

namespace proposals {

// FileIdentity: one inode. The time of creation tells two files apart that had the same inode number one after the
// other; it is 0 where the file system has none.
struct FileIdentity {
  uint64_t inode = 0;  // 0: no file
  int64_t born_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(const tenants::Entry& entry);

// True for "a" and "a/b": no empty, "." or ".." component, no NUL byte, not absolute, at most kMaxPathBytes.
bool is_relative(std::string_view path);
// "a" and "b" make "a/b"; "" and "b" make "b".
std::string joined(std::string_view folder, std::string_view name);
// The folder of a path, "" for a path with one component; its last component.
std::string folder_of(std::string_view path);
std::string name_in_folder(std::string_view path);
// Whether `path` is `above` or an entry below it.
bool is_at_or_below(std::string_view path, std::string_view above);

// The entry at `path`; a final link is described, not followed. nullopt: absent, or a component before the last
// is no folder. `path`: "" is `root` itself.
Result<std::optional<tenants::Entry>> find_entry(int root, const std::string& path);
// An O_PATH descriptor of a folder.
Result<Fd> open_folder(int root, const std::string& path);
// Names in a folder, sorted by bytes; the owner's rights of the folder are restored if they are missing. Errors:
// exhausted, more than `max`.
Result<std::vector<std::string>> list_names(int root, const std::string& path, uint64_t max);
// The text of a regular file of any number of names. A FIFO, socket or device is refused, never opened. Errors:
// exhausted, more than `max_bytes`.
Result<std::string> read_regular(int root, const std::string& path, size_t max_bytes);
// A descriptor of a regular file for reading; the same refusals.
Result<Fd> open_regular(int root, const std::string& path);
// The target of a symbolic link.
Result<std::string> read_link(int root, const std::string& path);

struct PlacedPath {
  int root = -1;
  const std::string& path;
};
enum class RenameMode { to_free_name, exchange };
// renameat2(2). An owner without the right to write a folder on the way, or the moved folder, takes the right; the
// caller gives the modes back (commit.cc). Returns 0, or the errno: EEXIST when the name is taken (to_free_name),
// ENOENT, ENOTDIR or ELOOP when a folder of a path is gone or is a link.
int move_entry(PlacedPath from, PlacedPath to, RenameMode how);
// unlinkat(2) of an entry that is no folder.
Result<> remove_entry(int root, const std::string& path);
// chmod(2) of a folder or regular file, never of a link's target.
Result<> set_mode(int root, const std::string& path, uint32_t mode);
Result<> set_mtime(int root, const std::string& path, int64_t mtime_ns);

// Looks at all entries below a folder, each folder before its contents, in the order of their names; paths begin at
// `root`. `remaining` counts down. The error of `use` ends the walk. Errors: exhausted, more than `remaining` entries,
// too deep, or a folder that cannot be read.
using UseEntry = std::function<Result<>(const std::string& path, const tenants::Entry& entry)>;
Result<> each_below(int root, const std::string& path, uint64_t& remaining, const UseEntry& use);

}  // namespace proposals
