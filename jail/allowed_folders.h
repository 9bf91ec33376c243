// AllowedFolders: which folders the jailer shows to jails as /workspace, and limits the projects of. Two kinds: folders
// of the daemon's user below one of a few parents (those of tenants and of the daemon's own servers), and single
// folders whoever owns them (the self-test's, and those that the administrator's configuration names for servers).
// Source: supervisor/main.cc, before the daemon gives its privileges up.
#pragma once
#include <cstdint>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

class AllowedFolders {
 public:
  // `parents` and `single` are O_PATH descriptors of directories; parents stay open. Whoever runs as `owner` must not
  // be able to rename a parent or what lies above it. Errors: internal, when the kernel cannot tell which mount a
  // folder is on (Linux 5.8).
  static Result<AllowedFolders> make(std::vector<Fd> parents, const std::vector<Fd>& single, uint32_t owner);

  struct Judged {
    const char* refused_by = nullptr;  // the check that refuses it, in words; nullptr: it is allowed
    uint64_t inode = 0;
    bool single = false;  // else it lies below a parent
  };
  Judged judge(int directory) const;

  // Of the file system that workspaces are on; borrowed.
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
