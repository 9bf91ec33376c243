#include "supervisor/tenants/layers/tree_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/layers/entry_rules.h"
#include "supervisor/tenants/layers/tree_scan.h"

namespace layers {
namespace {

constexpr time_t kFixedTime = 315'532'800;  // 1980-01-01, the earliest that zip files can have

Result<> set_time(int folder, const std::string& name) {
  const timespec times[2] = {{kFixedTime, 0}, {kFixedTime, 0}};
  if (::utimensat(folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0)
    return fail_path(errno, "set the time of", name);
  return {};
}

class LayerCopy {
 public:
  LayerCopy(int to, uint32_t owner) : to_(to), owner_(owner) {}

  Result<> take(const TreeEntry& walked) {
    if ((walked.status.st_mode & 07000) != 0 && !S_ISLNK(walked.status.st_mode))
      return refuse(walked, "it has a set-user-id, set-group-id or sticky mode");
    LayerEntry entry;
    entry.path = walked.path;
    if (S_ISDIR(walked.status.st_mode)) {
      entry.kind = EntryKind::folder;
      entry.mode = 0755;
    } else if (S_ISREG(walked.status.st_mode)) {
      entry.mode = (walked.status.st_mode & 0111) != 0 ? 0755 : 0644;
    } else if (S_ISLNK(walked.status.st_mode)) {
      entry.kind = EntryKind::link;
      entry.mode = 0777;
      TRY(entry.target, target_of_link(walked));
    } else {
      return refuse(walked, "it is a device, a socket or a FIFO");
    }
    CHECKED(check_entry(entry));
    TRY(const RelativePath path, RelativePath::parse(entry.path));
    TRY(const Fd parent, open_beneath(to_, path.parent(), O_RDONLY | O_DIRECTORY));
    const std::string name(path.name());
    if (entry.kind == EntryKind::folder) {
      if (::mkdirat(parent.get(), name.c_str(), 0755) < 0) return fail_path(errno, "make", entry.path);
      if (::fchmodat(parent.get(), name.c_str(), 0755, 0) < 0) return fail_path(errno, "set the mode of", entry.path);
      return {};
    }
    if (entry.kind == EntryKind::link) {
      if (::symlinkat(entry.target.c_str(), parent.get(), name.c_str()) < 0)
        return fail_path(errno, "make", entry.path);
    } else {
      CHECKED(copy_file(walked, parent.get(), name, entry.mode));
    }
    return set_time(parent.get(), name);
  }

 private:
  static tl::unexpected<Error> refuse(const TreeEntry& walked, const char* why) {
    return fail(Code::invalid, fmt::format("'{}' is refused: {}", printable(walked.path, 200), why));
  }

  Result<> copy_file(const TreeEntry& walked, int parent, const std::string& name, uint32_t mode) {
    // A user can give a second name to another user's file.
    if (walked.status.st_nlink > 1 && walked.status.st_uid != owner_)
      return refuse(walked, "it is another user's file");
    TRY(const Fd source, open_listed_beneath(walked.folder, walked.name, O_RDONLY | O_NONBLOCK));
    struct stat status {};
    if (::fstat(source.get(), &status) < 0) return fail_path(errno, "look at", walked.path);
    if (!S_ISREG(status.st_mode) || status.st_ino != walked.status.st_ino)
      return refuse(walked, "it changed while it was read");
    Fd target(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!target) return fail_path(errno, "make", walked.path);
    // Before a byte is copied: a file with a hole is large, and takes no room in an archive.
    bytes_ += file_bytes(walked);
    if (bytes_ > kMaxLayerBytes)
      return fail(Code::exhausted, fmt::format("a layer has at most {} GiB", kMaxLayerBytes >> 30),
                  "make several layers of fewer packages");
    uint64_t copied = 0;
    CHECKED(read_parts(source.get(), walked.path, [&](std::string_view part) -> Result<> {
      copied += part.size();
      if (copied > file_bytes(walked)) return refuse(walked, "it changed while it was read");
      return write_all(target.get(), part);
    }));
    if (::fchmod(target.get(), mode) < 0) return fail_path(errno, "set the mode of", walked.path);
    return {};
  }

  int to_;
  uint32_t owner_;
  uint64_t bytes_ = 0;
};

}  // namespace

Result<> copy_layer_tree(int from, int to) {
  struct stat status {};
  if (::fstat(from, &status) < 0) return fail_errno(errno, "look at the tree of packages");
  LayerCopy copy(to, status.st_uid);
  return walk_layer(from, [&copy](const TreeEntry& walked) { return copy.take(walked); });
}

}  // namespace layers
