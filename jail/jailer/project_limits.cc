#include "jail/jailer/project_limits.h"

#include <linux/quota.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace jail {

int set_project_limits(int directory, uint32_t project, ProjectLimits limits) {
  if (project == 0) return EINVAL;  // every file without a project has this number
  if_dqblk block = {};
  block.dqb_bhardlimit = block.dqb_bsoftlimit = limits.bytes / 1024 + (limits.bytes % 1024 != 0);
  block.dqb_ihardlimit = block.dqb_isoftlimit = limits.inodes;
  block.dqb_valid = QIF_LIMITS;
  return ::syscall(SYS_quotactl_fd, directory, QCMD(Q_SETQUOTA, PRJQUOTA), project, &block) < 0 ? errno : 0;
}

}  // namespace jail
