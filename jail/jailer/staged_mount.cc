#include "jail/jailer/staged_mount.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "jail/jailer/jailed_child.h"
#include "supervisor/base/fd.h"

namespace jail {
namespace {

int error_of(long result) { return result < 0 ? errno : 0; }

int move(int mount, const char* target) {
  return error_of(syscall(SYS_move_mount, mount, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
}

// setfsuid(2) may clear capabilities, which the mount needs.
int take_all_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) < 0) return errno;
  for (auto& half : data) half.effective = half.permitted;
  return error_of(syscall(SYS_capset, &header, data));
}

int become_mounter(const StagedMount& mount) {
  if (const int error = enter_jail(mount.init, CLONE_NEWUSER | CLONE_NEWNS)) return error;
  // These two report no errors: a second call with an invalid id returns the id that is set (setfsuid(2)).
  setfsgid(mount.code_id);
  setfsuid(mount.code_id);
  if (static_cast<uint32_t>(setfsgid(static_cast<gid_t>(-1))) != mount.code_id ||
      static_cast<uint32_t>(setfsuid(static_cast<uid_t>(-1))) != mount.code_id)
    return EPERM;
  if (const int error = guard_child()) return error;
  return take_all_capabilities();
}

// The working directory is the staging folder: the overlay's options are paths from there, so that no character of a
// path can be taken for another option.
int make_overlay(Fd& overlay) {
  const Fd context(static_cast<int>(syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC)));
  if (!context) return errno;
  auto flag = [&](const char* key) {
    return error_of(syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_FLAG, key, nullptr, 0));
  };
  auto text = [&](const char* key, const char* value) {
    return error_of(syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, key, value, 0));
  };
  int error = flag("userxattr");
  if (error == 0) error = flag("volatile");  // a commit makes files durable, and only those that it takes
  if (error == 0) error = text("index", "off");
  if (error == 0) error = text("metacopy", "off");  // else a file of the upper layer may have no contents
  if (error == 0) error = text("lowerdir", "l");
  if (error == 0) error = text("upperdir", "u");
  if (error == 0) error = text("workdir", "w");
  if (error == 0) error = error_of(syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0));
  if (error != 0) return error;
  overlay =
      Fd(static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)));
  return overlay ? 0 : errno;
}

int verify() {
  const Fd attached(open("/workspace", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!attached) return errno;
  struct statfs kind {};
  struct statvfs flags {};
  if (fstatfs(attached.get(), &kind) < 0 || fstatvfs(attached.get(), &flags) < 0) return errno;
  if (kind.f_type != OVERLAYFS_SUPER_MAGIC) return ENOTSUP;
  if (flags.f_flag & ST_RDONLY) return EROFS;
  return (flags.f_flag & ST_NOSUID) && (flags.f_flag & ST_NODEV) ? 0 : EXDEV;
}

int mount_in_jail(const StagedMount& mount) {
  Fd overlay;
  int error = become_mounter(mount);
  if (error == 0) error = move(mount.staging, "/workspace");
  if (error == 0) error = error_of(chdir("/workspace"));
  if (error == 0) error = move(mount.workspace, "l");
  if (error == 0) error = make_overlay(overlay);
  if (error == 0) error = move(overlay.get(), "/workspace");
  return error != 0 ? error : verify();
}

}  // namespace

int mount_staged(const StagedMount& mount) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    const int error = mount_in_jail(mount);
    (void)!write(write_end.get(), &error, sizeof error);
    end_in_jail();
  }
  write_end.reset();
  int error = 0;
  ssize_t n = 0;
  do n = read(read_end.get(), &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof error) ? error : EIO;  // EIO: the child was killed
}

}  // namespace jail
