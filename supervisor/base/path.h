// Paths below a directory that an agent, a jail or another user may write to. The only code of this program that opens
// file names of an agent or a jail: openat2(2) (Linux 5.6) with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS and
// NO_XDEV. So no name, link, mount or rename, at any time, leads outside `dirfd`.
// Errors: invalid (the name is wrong), not_found, denied (a link, another file system, permissions, not a regular
// file), exhausted (disk, quota, descriptors, a size over the bound). Each is a sentence with the path.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

constexpr size_t kMaxPathBytes = 4096;      // PATH_MAX
constexpr size_t kMaxComponentBytes = 255;  // NAME_MAX
constexpr size_t kMaxPathComponents = 128;  // a limit of this program: deeper trees come from accidents or attackers

// RelativePath: a checked name: UTF-8 without control characters, no leading '/', no "..", no empty or "." components
// (parse() removes these). "." is the directory itself.
class RelativePath {
 public:
  // Errors: invalid, with the reason why the name is wrong.
  static Result<RelativePath> parse(std::string_view text);
  // A path that the program itself has made, and that is right: a wrong one ends the program.
  static RelativePath known(std::string_view text) { return parse(text).value(); }
  RelativePath() : text_(".") {}  // the directory itself

  const std::string& text() const { return text_; }
  const char* c_str() const { return text_.c_str(); }
  bool is_root() const { return text_ == "."; }
  std::string_view name() const;                // the last component; "." for the root
  RelativePath parent() const;                  // the root's parent is the root
  std::vector<std::string> components() const;  // empty for the root

 private:
  explicit RelativePath(std::string checked) : text_(std::move(checked)) {}
  std::string text_;
};

// Opens `path`; always adds O_NOFOLLOW|O_NONBLOCK|O_NOCTTY|O_CLOEXEC. With O_PATH and no O_DIRECTORY a final symbolic
// link is opened itself; any other link is an error. May open a FIFO or a device: use open_regular_beneath for
// contents.
Result<Fd> open_beneath(int dirfd, const RelativePath& path, int flags, mode_t mode = 0);
// Like open_beneath, for a name from readdir(3), which may have bytes that RelativePath refuses.
Result<Fd> open_listed_beneath(int dirfd, const std::string& listed, int flags);
// An O_PATH descriptor of a directory below `dirfd`.
Result<Fd> open_directory_beneath(int dirfd, const RelativePath& path);
// Opens a regular file with exactly one name (hard link). Other files are refused before they are opened for I/O,
// because opening a FIFO wakes its other end and opening a device acts on it. `flags` without O_CREAT, O_TRUNC and
// O_PATH.
Result<Fd> open_regular_beneath(int dirfd, const RelativePath& path, int flags);
// Like lstat(2): a final symbolic link is described, not followed.
Result<struct stat> stat_beneath(int dirfd, const RelativePath& path);

// Makes the missing directories of `path` and returns the last directory (O_PATH). Existing directories keep their
// mode.
Result<Fd> make_directories_beneath(int dirfd, const RelativePath& path, mode_t mode);

enum class Existing { replace, refuse };
// renameat2(2), both names below `dirfd`. A link as the last component is itself renamed or replaced.
Result<> rename_beneath(int dirfd, const RelativePath& from, const RelativePath& to, Existing existing);
enum class Removing { file, empty_directory };
// unlinkat(2): a link is removed, not its target.
Result<> unlink_beneath(int dirfd, const RelativePath& path, Removing kind);

// TreeRemoval: removes a tree in slices. Any depth costs two descriptors and no stack: non-empty directories are moved
// up to the top of the tree, then emptied there. An interrupted removal leaves a smaller tree.
class TreeRemoval {
 public:
  // `path` is a directory below `dirfd`; `dirfd` must stay open. The whole removal may do at most `max_operations`
  // operations (a jail may add files during the removal).
  static Result<TreeRemoval> begin(int dirfd, const RelativePath& path, uint64_t max_operations = 2'000'000);
  // Does at most `operations` operations. True when the tree is gone. Errors: exhausted when max_operations did not
  // suffice.
  Result<bool> step(unsigned operations);

 private:
  TreeRemoval(Fd parent, std::string name, Fd top, uint64_t remaining)
      : parent_(std::move(parent)), name_(std::move(name)), top_(std::move(top)), remaining_(remaining) {}
  Result<bool> empty_directory(int directory, unsigned& operations);
  Result<bool> remove_entry(int directory, const char* name, bool is_directory, unsigned& operations);
  Fd parent_;
  std::string name_;
  Fd top_;
  uint64_t remaining_;
  uint64_t moved_ = 0;
};
Result<> remove_tree_beneath(int dirfd, const RelativePath& path, uint64_t max_operations = 2'000'000);

// Reads from the descriptor's position to the end of the file. Errors: exhausted when there are more than `max_bytes`.
Result<std::string> read_complete(int fd, size_t max_bytes);
Result<> write_all(int fd, std::string_view bytes);

// Opens a trusted absolute path from the configuration; links are followed. Returns an O_PATH descriptor.
Result<Fd> open_directory(const std::string& absolute);
// Opens a path of which no component may be a symbolic link: openat2(2), RESOLVE_NO_SYMLINKS. O_CLOEXEC is added.
// Errors: those of the system; denied: the path leads through a link, and the hint has the real path.
Result<Fd> open_without_links(const std::string& absolute, int flags);

// The Error for a failed system call on `path`, with sentence, code and remedy. Codes: see the top of this file.
// fail_path(errno, "read", path) -> "cannot read 'a/b': it does not exist".
tl::unexpected<Error> fail_path(int err, std::string_view verb, std::string_view path);
