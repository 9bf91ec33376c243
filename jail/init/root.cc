// The jail's file system: a read-only root, the host's /usr through an overlay, private temporary file systems, six
// devices, and terminals of its own. /proc is in proc.cc.
// The working directory is the template (jail/template.h), inherited from the jailer: the jail's ids need no right to
// walk the path above it. Sources: mount(2), pivot_root(2), overlayfs.rst, proc(5).
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstring>

#include "jail/init/steps.h"
#include "jail/short_text.h"

namespace jail::init {
namespace {

constexpr char kRoot[] = "mount";  // the template's mount point for the new root

int set_attributes(int fd, const char* path, unsigned flags, uint64_t attributes, uint64_t propagation = 0) {
  mount_attr attr{};
  attr.attr_set = attributes;
  attr.propagation = propagation;
  return outcome_of(syscall(SYS_mount_setattr, fd, path, flags, &attr, sizeof attr));
}

}  // namespace

int bind_mount(const char* source, const char* target, uint64_t attributes) {
  int tree = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (tree < 0) return errno;
  int error = set_attributes(tree, "", AT_EMPTY_PATH, attributes);
  if (error == 0) error = outcome_of(syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
  close(tree);
  return error;
}

namespace {

int mount_tmpfs(const char* target, unsigned long flags, uint64_t bytes, uint32_t files, unsigned mode,
                uint32_t owner) {
  ShortText<128> options;
  options << "size=" << bytes << ",nr_inodes=" << files << ",uid=" << owner << ",gid=" << owner << ",mode=";
  options.octal(mode);
  if (options.is_cut()) return ENAMETOOLONG;
  return outcome_of(mount("tmpfs", target, "tmpfs", flags | MS_NOSUID | MS_NODEV, options.c_str()));
}

// With a shared identity, the runner's id 1000 is id 0 of this namespace.
uint32_t runner_owner() { return plan->identity == Identity::shared ? kInitId : kRunnerId; }

// A zygote's root is a bind mount. It is not shared with tenants, and the depth of stacked overlayfs is limited
// (overlayfs.rst): the roots of the zygote's jails are overlays of what the zygote sees.
bool binds_root() { return plan->root == RootMode::bind || plan->role == Role::zygote; }

constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// Mounts the folder that the link servers/current names. The daemon writes that folder, so its paths are not trusted:
// `current` cannot lead outside of it. Without `current`, /servers stays empty. A jail keeps the folder that it was
// built with.
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

// Where the trees of the template and of the package layers are. A copy of a zygote sees what the zygote's home has
// mounted for it (mount_template()); its own /usr may be an overlay, on which no second one would fit.
struct Sources {
  const char* usr;
  const char* layers;
};
Sources sources() {
  if (plan->role == Role::forked && plan->layer_count > 0) return {"usr", "layers"};
  return {"/usr", "../layers"};
}

// Opens the tree of one layer. Its folder is named by the hash in hexadecimal digits, so the plan cannot name another
// folder. The store belongs to root, and no link in it is followed.
int open_layer(int store, const LayerHash& hash, int& tree) {
  constexpr char kDigits[] = "0123456789abcdef", kTree[] = "/tree";
  char path[sizeof hash.bytes * 2 + sizeof kTree];
  char* at = path;
  for (const uint8_t byte : hash.bytes) {
    *at++ = kDigits[byte >> 4];
    *at++ = kDigits[byte & 15];
  }
  memcpy(at, kTree, sizeof kTree);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  tree = static_cast<int>(syscall(SYS_openat2, store, path, &how, sizeof how));
  return tree < 0 ? errno : 0;
}

// Mounts /usr over the package layers: /usr is the uppermost folder, so no file of a layer can hide one of /usr.
// Without layers, an empty folder is the second one: an overlay needs two.
int mount_layered_usr() {
  const Sources from = sources();
  ShortText<sizeof "lowerdir=" + 16 + kMaxLayers * sizeof ":/proc/self/fd/2147483647"> options;
  options << "lowerdir=" << from.usr << (plan->layer_count == 0 ? ":empty" : "");
  int trees[kMaxLayers];
  uint32_t opened = 0;
  int error = 0;
  if (plan->layer_count > 0) {
    int store = open(from.layers, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store < 0) return errno;
    for (; opened < plan->layer_count && error == 0; opened++) {
      error = open_layer(store, plan->layers[opened], trees[opened]);
      if (error != 0) break;
      options << ":/proc/self/fd/" << static_cast<uint64_t>(trees[opened]);
    }
    close(store);
  }
  if (options.is_cut()) error = ENAMETOOLONG;
  if (error == 0)
    error = outcome_of(mount("overlay", "mount/usr", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options.c_str()));
  for (uint32_t i = 0; i < opened; i++) close(trees[i]);
  return error;
}

}  // namespace

int make_mounts_private() { return set_attributes(AT_FDCWD, "/", AT_RECURSIVE, 0, MS_PRIVATE); }

int mount_root() {
  int error = 0;
  if (binds_root()) {
    error = bind_mount("root", kRoot, kReadOnly);
  } else {
    // Two lower directories and no upper one: overlayfs is then always read-only. Each jail has its own overlay, so
    // locks, leases and inotify on shared files do not reach other jails.
    error = outcome_of(mount("overlay", kRoot, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=root:empty"));
  }
  return error != 0 || plan->role == Role::zygote ? error : mount_servers();
}

int mount_usr() {
  // A zygote with layers has them itself, so that its interpreter can load their modules before it is copied.
  if (plan->root == RootMode::bind || (plan->role == Role::zygote && plan->layer_count == 0))
    return plan->layer_count > 0 ? EOPNOTSUPP : bind_mount("/usr", "mount/usr", kReadOnly);
  return mount_layered_usr();
}

// Pseudoterminals of this jail alone, for script, pexpect, ssh and Python's pty: each mount of devpts has its own
// (devpts.rst). `max` bounds their memory, and the share of the machine's own limit that one jail can use.
int mount_terminals() {
  return outcome_of(
      mount("devpts", "mount/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600,max=64"));
}

int bind_devices() {
  // A zygote's home has the folder as its jails need it, in an overlay of its own: only jails of one tenant share it.
  if (plan->role == Role::forked) {
    if (mount("/dev", "mount/dev", nullptr, MS_BIND | MS_REC, nullptr) < 0) return errno;
    return mount_terminals();
  }
  if (plan->role == Role::zygote && plan->root == RootMode::overlay) {
    if (mount("overlay", "mount/dev", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=root/dev:empty") < 0)
      return errno;
  }
  constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};
  for (const char* name : kDevices) {
    ShortText<32> source, target;
    // A shared mapping of /dev/zero is memory that is counted for no process. /dev/full stands in: it reads as zeros,
    // too, but cannot be mapped, and it refuses writes.
    const bool is_replaced = plan->memory_uncounted != 0 && strcmp(name, "zero") == 0;
    source << "/dev/" << (is_replaced ? "full" : name);
    target << "mount/dev/" << name;
    if (int error = bind_mount(source.c_str(), target.c_str(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)) return error;
  }
  return plan->role == Role::zygote ? 0 : mount_terminals();
}

int mount_temporary_files() {
  uint32_t owner = runner_owner();
  if (int e = mount_tmpfs("mount/tmp", 0, plan->tmp_bytes, plan->tmp_files, 01777, owner)) return e;
  if (int e = mount_tmpfs("mount/home/agent", 0, plan->tmp_bytes, plan->tmp_files, 0700, owner)) return e;
  return mount_tmpfs("mount/dev/shm", MS_NOEXEC, plan->tmp_bytes, plan->tmp_files, 01777, owner);
}

int mount_template() {
  if (int e = bind_mount(".", "mount/run", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)) return e;
  if (plan->layer_count == 0) return 0;
  // For the overlays of the zygote's jails: the folders below its own overlay.
  if (int e = bind_mount("/usr", "mount/run/usr", kReadOnly)) return e;
  return bind_mount("../layers", "mount/run/layers", kReadOnly);
}

int set_hostname() {
  constexpr char kName[] = "jail";
  if (sethostname(kName, sizeof kName - 1) < 0) return errno;
  return outcome_of(setdomainname(kName, sizeof kName - 1));
}

int pivot() {
  // pivot_root(".", ".") stacks the old root on the new one; after the detach no mount of the host is left.
  if (chdir(kRoot) < 0) return errno;
  if (syscall(SYS_pivot_root, ".", ".") < 0) return errno;
  if (umount2(".", MNT_DETACH) < 0) return errno;
  return outcome_of(chdir(plan->role == Role::zygote ? "/run" : "/"));
}

}  // namespace jail::init
