#include "supervisor/tenants/quota.h"

#include <fmt/format.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>

namespace tenants {
namespace {

constexpr uint64_t kRounding = 64 * 1024;  // larger than any usual block

uint64_t plus(uint64_t value, int64_t change) {
  if (change >= 0) return value + static_cast<uint64_t>(change);
  uint64_t less = static_cast<uint64_t>(-change);
  return value > less ? value - less : 0;
}

uint64_t left(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

constexpr char kFreeSome[] = "delete files that are no longer needed, or ask the administrator for a larger quota";

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

// The ioctls refuse O_PATH descriptors.
Result<Fd> readable(int dirfd) { return open_beneath(dirfd, RelativePath(), O_RDONLY | O_DIRECTORY); }

}  // namespace

uint64_t charge_of(const Entry& entry) {
  if (entry.kind != Kind::file) return 0;
  if (entry.allocated < entry.size) return entry.allocated;
  return entry.allocated - entry.size > kRounding ? entry.allocated : entry.size;
}

QuotaLimits Quota::remaining() const { return {left(limits_.bytes, usage_.bytes), left(limits_.files, usage_.files)}; }

Result<> Quota::check(std::string_view path, int64_t bytes, int64_t files) const {
  if (bytes <= 0 && files <= 0) return {};
  if (!usage_.problem.empty())
    return fail(Code::exhausted,
                fmt::format("cannot write '{}': the workspace cannot be counted: {}", path, usage_.problem),
                "delete what is in the way", "quota.workspace_files");
  QuotaLimits free = remaining();
  if (bytes > 0 && static_cast<uint64_t>(bytes) > free.bytes)
    return fail(Code::exhausted,
                fmt::format("writing '{}' needs {} bytes more, {} of {} are left in this workspace", path, bytes,
                            free.bytes, limits_.bytes),
                kFreeSome, "quota.workspace_bytes");
  if (files > 0 && static_cast<uint64_t>(files) > free.files)
    return fail(Code::exhausted,
                fmt::format("writing '{}' adds {} files and folders, {} of {} are left in this workspace", path, files,
                            free.files, limits_.files),
                kFreeSome, "quota.workspace_files");
  return {};
}

Result<> Quota::within() const {
  if (!usage_.problem.empty())
    return fail(Code::exhausted, "the workspace cannot be counted: " + usage_.problem, "delete what is in the way",
                "quota.workspace_files");
  if (usage_.bytes > limits_.bytes)
    return fail(Code::exhausted,
                fmt::format("the workspace holds {} bytes, {} are allowed", usage_.bytes, limits_.bytes), kFreeSome,
                "quota.workspace_bytes");
  if (usage_.files > limits_.files)
    return fail(Code::exhausted,
                fmt::format("the workspace holds {} files and folders, {} are allowed", usage_.files, limits_.files),
                kFreeSome, "quota.workspace_files");
  return {};
}

void Quota::add(int64_t bytes, int64_t files) {
  usage_.bytes = plus(usage_.bytes, bytes);
  usage_.files = plus(usage_.files, files);
}

// Q_XGETQSTATV answers without privilege and, unlike Q_GETFMT, for ext4 and xfs alike (quotactl(2)).
Result<> project_quota_enforced(int dirfd) {
  fs_quota_statv state = {};
  state.qs_version = FS_QSTATV_VERSION1;
  if (quotactl_fd(dirfd, Q_XGETQSTATV, 0, &state) < 0) return no_quota(errno, "quotactl_fd: no project quota here");
  if ((state.qs_flags & FS_QUOTA_PDQ_ENFD) == 0)
    return fail(Code::unavailable, "project quotas are counted but not enforced on this file system",
                "mount it with prjquota (ext4) or pquota (xfs)");
  return {};
}

Result<uint32_t> project_of(int dirfd) {
  TRY(Fd directory, readable(dirfd));
  fsxattr attributes = {};
  if (::ioctl(directory.get(), FS_IOC_FSGETXATTR, &attributes) < 0) return no_quota(errno, "read the project id");
  return attributes.fsx_projid;
}

Result<> set_project(int dirfd, uint32_t project) {
  if (project == 0)
    return fail(Code::invalid, "project 0 is everybody's", "use a number of its own for each workspace");
  TRY(Fd directory, readable(dirfd));
  fsxattr attributes = {};
  if (::ioctl(directory.get(), FS_IOC_FSGETXATTR, &attributes) < 0) return no_quota(errno, "read the project id");
  attributes.fsx_projid = project;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (::ioctl(directory.get(), FS_IOC_FSSETXATTR, &attributes) < 0) return no_quota(errno, "set the project id");
  return {};
}

Result<> set_project_limits(int dirfd, const ProjectQuota& quota) {
  if (quota.project == 0)
    return fail(Code::invalid, "project 0 is everybody's", "use a number of its own for each workspace");
  if_dqblk limits = {};
  limits.dqb_bhardlimit = limits.dqb_bsoftlimit = quota.limits.bytes / 1024 + (quota.limits.bytes % 1024 != 0);
  limits.dqb_ihardlimit = limits.dqb_isoftlimit = quota.limits.files;
  limits.dqb_valid = QIF_LIMITS;
  if (quotactl_fd(dirfd, Q_SETQUOTA, quota.project, &limits) < 0) return no_quota(errno, "set the project's limits");
  return {};
}

Result<Usage> project_usage(int dirfd, uint32_t project) {
  if_dqblk state = {};
  if (quotactl_fd(dirfd, Q_GETQUOTA, project, &state) < 0) return no_quota(errno, "read the project's usage");
  return Usage{state.dqb_curspace, state.dqb_curinodes, {}};
}

}  // namespace tenants
