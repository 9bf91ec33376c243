// Landlock: the first wall around init, the second around files. A process in a Landlock domain cannot ptrace, read the
// memory of, or take descriptors from a process outside of the domain (landlock.rst; measured on 6.1 and 6.18). For
// files, the domain forbids making device nodes, and ioctls on all devices but those of the jail's /dev. It does not
// limit where code may write: mounts and file owners do. A rule for /workspace is not possible, because the workspace
// is mounted after this domain exists. The rule would have to name the parent directory, and the parent is /
// (security/landlock/fs.c skips directories that mounts cover). If the workspace were mounted below a separate
// directory, and /workspace were a link to it, `find /workspace` would see no files.
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/init/steps.h"

// Access rights newer than Debian 12's kernel headers (linux/landlock.h of 6.2, 6.10).
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

namespace jail::init {
namespace {

// struct landlock_ruleset_attr as of ABI 6; older kernels take a shorter one.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // ABI 4
  uint64_t scoped;              // ABI 6: abstract Unix sockets, signals
};
constexpr uint64_t kScopeAbstractUnixSocket = 1, kScopeSignal = 2;

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

uint64_t write_rights(int abi) {
  uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
  return rights;
}

int allow(int ruleset, const char* path, uint64_t rights) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0) return errno;
  int error = outcome_of(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
  close(rule.parent_fd);
  return error;
}

}  // namespace

int detect_landlock() {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 0) {
    if (plan->landlock_required) return errno;
    abi = 0;
  }
  report.landlock_abi = static_cast<int32_t>(abi);
  return 0;
}

int restrict_files() {
  int abi = report.landlock_abi;
  if (abi == 0) return 0;
  uint64_t handled = kRead | write_rights(abi) | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
  if (abi >= 5) handled |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  RulesetAttributes attributes{};
  attributes.handled_access_fs = handled;
  size_t size = sizeof attributes.handled_access_fs;
  if (abi >= 6) {
    attributes.scoped = kScopeAbstractUnixSocket | kScopeSignal;
    size = sizeof attributes;
  }
  int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) return errno;
  int error = allow(ruleset, "/", kRead | write_rights(abi));
  // Sizes and modes of terminals are ioctls: isatty(3), script(1). The other devices of the jail's /dev take none, and
  // say so with ENOTTY.
  if (abi >= 5 && error == 0) error = allow(ruleset, "/dev", LANDLOCK_ACCESS_FS_IOCTL_DEV);
  if (error == 0) error = outcome_of(syscall(SYS_landlock_restrict_self, ruleset, 0));
  close(ruleset);
  return error;
}

}  // namespace jail::init
