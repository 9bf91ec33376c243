// The jail's file system: a read-only root of its own, the host's /usr through its own overlay, private
// temporary file systems, five devices, a /proc of pids only.
// The working directory is the template (jail/template.h), inherited from the jailer, so that no path above
// it needs to be walkable by the jail's ids. Sources: mount(2), pivot_root(2), overlayfs.rst, proc(5).
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>

#include "jail/init/steps.h"

namespace jail::init {
namespace {

constexpr char kRoot[] = "mount";  // where the template says the new root goes

int set_attributes(int fd, const char* path, unsigned flags, uint64_t attributes, uint64_t propagation = 0) {
  mount_attr attr{};
  attr.attr_set = attributes;
  attr.propagation = propagation;
  return outcome_of(syscall(SYS_mount_setattr, fd, path, flags, &attr, sizeof attr));
}

// A detached copy of one mount, read-only and harmless, moved to `target`. Not recursive on purpose: what is
// mounted below must be named to be shown.
int bind(const char* source, const char* target, uint64_t attributes) {
  int tree = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (tree < 0) return errno;
  int error = set_attributes(tree, "", AT_EMPTY_PATH, attributes);
  if (error == 0) error = outcome_of(syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
  close(tree);
  return error;
}

int mount_tmpfs(const char* target, unsigned long flags, uint64_t bytes, uint32_t files, unsigned mode,
                uint32_t owner) {
  char options[128];
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%u,mode=%o,uid=%u,gid=%u",
           static_cast<unsigned long long>(bytes), files, mode, owner, owner);
  return outcome_of(mount("tmpfs", target, "tmpfs", flags | MS_NOSUID | MS_NODEV, options));
}

// In a shared identity the runner's id 1000 is id 0 of this namespace.
uint32_t runner_owner() { return plan->identity == Identity::shared ? kInitId : kRunnerId; }

// A zygote's root shares nothing with tenants, and overlayfs may not be stacked too deep (overlayfs.rst): its jails'
// roots are overlays of what it sees.
bool binds_root() { return plan->root == RootMode::bind || plan->role == Role::zygote; }

constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// The daemon's folder, so not a path to be trusted: nothing outside it is shown, whatever `current` names. Without one
// there is nothing to show. A jail keeps what it was built with.
int mount_servers() {
  int folder = open("servers", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno;
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  int current = static_cast<int>(syscall(SYS_openat2, folder, "current", &how, sizeof how));
  int error = current < 0 ? errno : 0;
  close(folder);
  if (current < 0) return error == ENOENT ? 0 : error;
  int tree = static_cast<int>(syscall(SYS_open_tree, current, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
  error = tree < 0 ? errno : set_attributes(tree, "", AT_EMPTY_PATH, kReadOnly | MOUNT_ATTR_NOEXEC);
  if (error == 0)
    error = outcome_of(syscall(SYS_move_mount, tree, "", AT_FDCWD, "mount/servers", MOVE_MOUNT_F_EMPTY_PATH));
  close(current);
  if (tree >= 0) close(tree);
  return error;
}

}  // namespace

int make_mounts_private() { return set_attributes(AT_FDCWD, "/", AT_RECURSIVE, 0, MS_PRIVATE); }

int mount_root() {
  int error = 0;
  if (binds_root()) {
    error = bind("root", kRoot, kReadOnly);
  } else {
    // Two lower directories and no upper one: read-only by construction. An instance of our own, so that locks,
    // leases and inotify on shared files do not reach other jails.
    error = outcome_of(mount("overlay", kRoot, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=root:empty"));
  }
  return error != 0 || plan->role == Role::zygote ? error : mount_servers();
}

int mount_usr() {
  if (binds_root()) return bind("/usr", "mount/usr", kReadOnly);
  return outcome_of(mount("overlay", "mount/usr", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=/usr:empty"));
}

int bind_devices() {
  constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom"};
  char source[32], target[64];
  for (const char* name : kDevices) {
    // A shared mapping of /dev/zero is memory that belongs to no process. /dev/full reads as zeros, too, and cannot be
    // mapped; it refuses what is written to it.
    const bool is_replaced = plan->memory_uncounted != 0 && strcmp(name, "zero") == 0;
    snprintf(source, sizeof source, "/dev/%s", is_replaced ? "full" : name);
    snprintf(target, sizeof target, "mount/dev/%s", name);
    if (int error = bind(source, target, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)) return error;
  }
  return 0;
}

int mount_temporary_files() {
  uint32_t owner = runner_owner();
  if (int e = mount_tmpfs("mount/tmp", 0, plan->tmp_bytes, plan->tmp_files, 01777, owner)) return e;
  if (int e = mount_tmpfs("mount/home/agent", 0, plan->tmp_bytes, plan->tmp_files, 0700, owner)) return e;
  return mount_tmpfs("mount/dev/shm", MS_NOEXEC, plan->tmp_bytes, plan->tmp_files, 01777, owner);
}

int mount_proc() {
  // subset=pid hides everything but processes (no /proc/sys, kallsyms, meminfo); hidepid hides those of other ids.
  // Read-only: code has nothing to write there. The runner of a shared identity writes its id map (confine.cc).
  const unsigned long access = plan->identity == Identity::shared ? 0 : MS_RDONLY;
  return outcome_of(
      mount("proc", "mount/proc", "proc", access | MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=invisible"));
}

int mount_whole_proc() {
  // A process may only mount a /proc where it sees a whole one (mount_too_revealing() in fs/namespace.c).
  return outcome_of(mount("proc", "mount/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
}

int mount_template() { return bind(".", "mount/run", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV); }

int set_hostname() {
  constexpr char kName[] = "jail";
  if (sethostname(kName, sizeof kName - 1) < 0) return errno;
  return outcome_of(setdomainname(kName, sizeof kName - 1));
}

int pivot() {
  // pivot_root(".", ".") stacks the old root on the new one; detaching it leaves nothing of the host behind.
  if (chdir(kRoot) < 0) return errno;
  if (syscall(SYS_pivot_root, ".", ".") < 0) return errno;
  if (umount2(".", MNT_DETACH) < 0) return errno;
  return outcome_of(chdir(plan->role == Role::zygote ? "/run" : "/"));
}

}  // namespace jail::init
