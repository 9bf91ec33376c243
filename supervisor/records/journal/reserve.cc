#include "supervisor/records/journal/reserve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "supervisor/base/fd.h"

namespace journal {
namespace {

constexpr uint64_t kMin = 256 << 10, kMax = 16 << 20, kPart = 64;
constexpr uint64_t kBlock = 512;  // the unit of st_blocks
// Not in linux/magic.h of every release.
constexpr uint64_t kZfs = 0x2fc12fc1, kBcachefs = 0xca451a4e;

std::string path_in(const std::string& folder) { return folder + "/reserve"; }

auto no_space(const std::string& folder) {
  return fail(Code::exhausted, "too little free space for the reserve of the journal",
              fmt::format("free space on this disk: df -h {}", folder));
}

}  // namespace

const char* name_of_copy_on_write(uint64_t file_system) {
  switch (file_system) {
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case kZfs:
      return "zfs";
    case F2FS_SUPER_MAGIC:
      return "f2fs";
    case kBcachefs:
      return "bcachefs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlayfs";
    default:
      return nullptr;
  }
}

Result<uint64_t> make_reserve(const std::string& folder) {
  struct statfs kind {};
  struct statvfs space {};
  if (::statfs(folder.c_str(), &kind) < 0 || ::statvfs(folder.c_str(), &space) < 0)
    return fail_errno(errno, "look at the journal's file system", Code::unavailable);
  if (const char* name = name_of_copy_on_write(static_cast<uint64_t>(kind.f_type)))
    return fail(Code::unavailable,
                fmt::format("{} cannot keep space for the journal: it writes changes to new blocks", name),
                "keep the state folder on ext4 or xfs");
  const uint64_t bytes = std::clamp(space.f_blocks * space.f_frsize / kPart, kMin, kMax);
  const std::string path = path_in(folder);
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat present {};
  if (!file || ::fstat(file.get(), &present) < 0) {
    if (errno == ENOSPC || errno == EDQUOT) return no_space(folder);
    return fail_errno(errno, "make " + path, Code::unavailable);
  }
  if (static_cast<uint64_t>(present.st_blocks) * kBlock >= bytes) return bytes;
  // The same again stays free, so that the reserve itself does not fill the disk.
  const bool has_room = space.f_bavail * space.f_frsize >= 2 * bytes;
  const int error = !has_room ? ENOSPC : ::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) < 0 ? errno : 0;
  if (error == 0) return bytes;
  ::unlink(path.c_str());
  if (error == ENOSPC || error == EDQUOT) return no_space(folder);
  return fail_errno(error, "allocate " + path, Code::unavailable);
}

Result<> release_reserve(const std::string& folder) {
  if (::unlink(path_in(folder).c_str()) < 0 && errno != ENOENT)
    return fail_errno(errno, "remove the journal's reserve", Code::unavailable);
  return {};
}

}  // namespace journal
