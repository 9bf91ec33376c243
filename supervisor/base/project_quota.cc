#include "supervisor/base/project_quota.h"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/base/path.h"

namespace {

long quotactl_fd(int fd, int command, uint32_t id, void* data) {
  return ::syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), id, data);
}

tl::unexpected<Error> no_quota(int err, std::string_view step) {
  bool missing = err == ENOSYS || err == ESRCH || err == EOPNOTSUPP || err == ENOTTY || err == EINVAL || err == EPERM;
  auto error = fail_errno(err, step, missing ? Code::unavailable : Code::internal);
  error.value().hint =
      "project quotas need ext4 (feature project, mount option prjquota) or xfs (pquota) and Linux 5.14";
  return error;
}

// quotactl_fd(2) and the ioctls refuse O_PATH descriptors, so this opens the directory for reading.
Result<Fd> readable(int directory) { return open_beneath(directory, RelativePath(), O_RDONLY | O_DIRECTORY); }

auto everybodys() {
  return fail(Code::invalid, "project 0 belongs to all files without a project",
              "use a different number for each folder");
}

}  // namespace

// Q_XGETQSTATV needs no privilege and, unlike Q_GETFMT, works for ext4 and xfs alike (quotactl(2)).
Result<> project_quota_enforced(int directory) {
  TRY(Fd opened, readable(directory));
  fs_quota_statv state = {};
  state.qs_version = FS_QSTATV_VERSION1;
  if (quotactl_fd(opened.get(), Q_XGETQSTATV, 0, &state) < 0)
    return no_quota(errno, "quotactl_fd: no project quota on this file system");
  if ((state.qs_flags & FS_QUOTA_PDQ_ENFD) == 0)
    return fail(Code::unavailable, "project quotas are counted but not enforced on this file system",
                "mount it with prjquota (ext4) or pquota (xfs)");
  return {};
}

Result<uint32_t> project_of(int directory) {
  TRY(Fd opened, readable(directory));
  fsxattr attributes = {};
  if (::ioctl(opened.get(), FS_IOC_FSGETXATTR, &attributes) < 0) return no_quota(errno, "read the project id");
  return attributes.fsx_projid;
}

Result<> set_project(int directory, uint32_t project) {
  if (project == 0) return everybodys();
  TRY(Fd opened, readable(directory));
  fsxattr attributes = {};
  if (::ioctl(opened.get(), FS_IOC_FSGETXATTR, &attributes) < 0) return no_quota(errno, "read the project id");
  attributes.fsx_projid = project;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (::ioctl(opened.get(), FS_IOC_FSSETXATTR, &attributes) < 0) return no_quota(errno, "set the project id");
  return {};
}
