#include "jail/jailer/allowed_folders.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "jail/short_text.h"

namespace jail {
namespace {

// Reads the path of an open directory, as our mount namespace has it at one moment: the kernel walks up while it holds
// off every rename (fs/d_path.c, prepend_path). It needs no right to search the folders in between; the jailer has no
// right to search them. False if the directory is not below our root, or the path is longer than PATH_MAX.
bool read_path(int fd, char (&path)[PATH_MAX]) {
  ShortText<32> link;
  link << "/proc/self/fd/" << static_cast<uint64_t>(fd);
  const ssize_t n = ::readlink(link.c_str(), path, sizeof path);
  if (n <= 0 || n >= static_cast<ssize_t>(sizeof path) || path[0] != '/') return false;
  path[n] = '\0';
  return true;
}

}  // namespace

bool AllowedFolders::read_facts(int fd, Facts& facts) {
  constexpr unsigned kRequested = STATX_TYPE | STATX_UID | STATX_INO | STATX_MNT_ID;
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, kRequested, &info) < 0 || (info.stx_mask & kRequested) != kRequested) return false;
  facts.id = {info.stx_mnt_id, info.stx_ino, info.stx_dev_major, info.stx_dev_minor};
  facts.owner = info.stx_uid;
  facts.directory = S_ISDIR(info.stx_mode);
  return true;
}

Result<AllowedFolders> AllowedFolders::make(std::vector<Fd> parents, const std::vector<Fd>& single, uint32_t owner) {
  AllowedFolders allowed(owner);
  Facts facts;
  for (Fd& parent : parents) {
    if (!read_facts(parent.get(), facts))
      return fail_errno(errno, "read the status of the folders of workspaces (statx)");
    allowed.parents_.push_back({std::move(parent), facts.id});
  }
  for (const Fd& folder : single) {
    if (!read_facts(folder.get(), facts)) return fail_errno(errno, "read the status of the folders of servers (statx)");
    allowed.single_.push_back(facts.id);
  }
  if (allowed.parents_.empty()) return fail(Code::internal, "the jailer received no folder for workspaces");
  return allowed;
}

// On one mount, no two directories have the same path at the same moment. Only root can rename the parent, so the
// parent's path is still the same when the other path is read. So each path that begins with the parent's path is below
// the parent. A bind mount has another mount id: judge() compares the ids.
bool AllowedFolders::lies_below(const char* path, const Parent& parent) {
  char above[PATH_MAX];
  if (!read_path(parent.fd.get(), above)) return false;
  const size_t length = std::strlen(above);
  return std::strncmp(path, above, length) == 0 && path[length] == '/';
}

AllowedFolders::Judged AllowedFolders::judge(int directory) const {
  Facts facts;
  if (!read_facts(directory, facts)) return {"the kernel does not report the identity of the folder"};
  if (!facts.directory) return {"the file is not a directory"};
  if (std::find(single_.begin(), single_.end(), facts.id) != single_.end()) return {nullptr, facts.id.inode, true};
  if (facts.owner != owner_) return {"the folder does not belong to the daemon's user"};
  char path[PATH_MAX];
  if (!read_path(directory, path)) return {"the folder is not below the jailer's root"};
  for (const Parent& parent : parents_) {
    if (facts.id.mount == parent.id.mount && lies_below(path, parent)) return {nullptr, facts.id.inode, false};
  }
  return {"the folder is not below a folder for workspaces on the same mount"};
}

}  // namespace jail
