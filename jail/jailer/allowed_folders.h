// AllowedFolders: which folders the jailer may mount in jails as /workspace, and on which it may set project limits.
// Two kinds are allowed. First: folders that the daemon's user owns, below a few parents (the folders of tenants and of
// the daemon's own servers). Second: single folders of any owner (the self-test's, and those that the administrator's
// configuration names for servers).
// Source: supervisor/main.cc, before the daemon gives its privileges up. Used by: jail/jailer/order_check.h.
#pragma once
#include <cstdint>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

class AllowedFolders {
 public:
  // `parents` and `single` are O_PATH descriptors of directories; parents stay open. Processes that run as `owner` must
  // not be able to rename a parent or a folder above it. Errors: internal, when the kernel cannot report the mount of a
  // folder (needs Linux 5.8).
  static Result<AllowedFolders> make(std::vector<Fd> parents, const std::vector<Fd>& single, uint32_t owner);

  struct Judged {
    const char* refused_by = nullptr;  // the failed check, in words; nullptr: the folder is allowed
    uint64_t inode = 0;
    bool single = false;  // true: a single folder; false: a folder below a parent
  };
  Judged judge(int directory) const;

  // A descriptor on the file system of the workspaces; borrowed.
  int first_parent() const { return parents_.front().fd.get(); }

 private:
  struct FolderId {
    uint64_t mount = 0, inode = 0;
    uint32_t device_major = 0, device_minor = 0;
    bool operator==(const FolderId&) const = default;
  };
  struct Parent {
    Fd fd;
    FolderId id;
  };
  struct Facts {
    FolderId id;
    uint32_t owner = 0;
    bool directory = false;
  };
  explicit AllowedFolders(uint32_t owner) : owner_(owner) {}
  static bool read_facts(int fd, Facts& facts);
  static bool lies_below(const char* path, const Parent& parent);

  uint32_t owner_;
  std::vector<Parent> parents_;
  std::vector<FolderId> single_;
};

}  // namespace jail
