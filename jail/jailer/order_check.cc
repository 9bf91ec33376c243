#include "jail/jailer/order_check.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "jail/pidfd.h"
#include "jail/plan.h"
#include "supervisor/base/project_quota.h"

namespace jail {
namespace {

OrderVerdict refuse(const char* why, int error = EPERM) {
  OrderVerdict verdict;
  verdict.error = error;
  verdict.why = why;
  return verdict;
}

OrderVerdict allow(LivingJail* jail = nullptr) {
  OrderVerdict verdict;
  verdict.jail = jail;
  return verdict;
}

OrderVerdict wrong_descriptors() { return refuse("the number of descriptors", EINVAL); }

// A jail may end before the jailer reads an order about it.
OrderVerdict not_a_jail(int pidfd) {
  return is_alive(pidfd) ? refuse("the pidfd is not that of a jail's init") : refuse("the jail is gone", ESRCH);
}

// True if the plan's bytes cannot change any more, here or in the jail.
bool is_sealed_plan(int fd) {
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  struct stat info {};
  const int seals = ::fcntl(fd, F_GET_SEALS);  // -1: not a memfd
  return seals >= 0 && (seals & kSeals) == kSeals && ::fstat(fd, &info) == 0 &&
         info.st_size == static_cast<off_t>(sizeof(Plan));
}

// 0: not a Unix socket.
int unix_socket_type(int fd) {
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain != AF_UNIX) return 0;
  size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ? 0 : type;
}

bool is_pipes_writing_end(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
}

// A cgroup is never moved, so its parent stays the same.
bool is_leaf_of(int fd, const OrderRules::CgroupId& jails) {
  struct statfs kind {};
  if (::fstatfs(fd, &kind) < 0 || kind.f_type != CGROUP2_SUPER_MAGIC) return false;
  const Fd parent(::openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  return parent && ::fstat(parent.get(), &info) == 0 && info.st_dev == jails.device && info.st_ino == jails.inode;
}

}  // namespace

OrderVerdict judge_ids(const OrderRules& rules, const Order& order) {
  if (order.identity != (rules.separated ? Identity::separated : Identity::shared))
    return refuse("the kind of identity is not this daemon's");
  if (order.init_id != rules.init_id()) return refuse("init's host id is not that of jails");
  if (rules.separated && rules.maps_mounts) {
    if (!rules.ids.has_runner(order.runner_id) || order.runner_id == rules.daemon_uid)
      return refuse("the runner's host id is not of the jails' range");
  } else if (order.runner_id != rules.daemon_uid) {
    return refuse("the runner's host id is not the daemon's, where workspaces are not mapped");
  }
  return allow();
}

OrderVerdict OrderCheck::judge(const Order& order, std::vector<Fd>& fds) {
  if (order.has_cgroup > 1 || order.map_ids > 1 || order.read_only > 1 || order.wanted > 1 || order.crowded > 1 ||
      order.staged > 1 || order.listens > 1)
    return refuse("a flag that is neither 0 nor 1", EINVAL);
  switch (order.type) {
    case OrderType::build:
      return judge_build(order, fds);
    case OrderType::attach:
      return judge_attach(order, fds);
    case OrderType::end:
      return judge_end(fds);
    case OrderType::probe_idmap:
      return judge_probe(order, fds);
    case OrderType::limit_project:
      return judge_project(order, fds);
    case OrderType::lower_priority:
      return judge_priority(order, fds);
    case OrderType::count_files:
      return judge_count(fds);
    case OrderType::fork:
      break;  // only zygotes fork
  }
  return refuse("the type of the order", EINVAL);
}

OrderVerdict OrderCheck::judge_build(const Order& order, const std::vector<Fd>& fds) {
  if (fds.size() != (order.has_cgroup ? 6u : 5u)) return wrong_descriptors();
  if (auto ids = judge_ids(rules_, order); !ids) return ids;
  if (!is_sealed_plan(fds[0].get())) return refuse("the plan is not a sealed memfd of its size");
  const int guest = unix_socket_type(fds[1].get());
  if (guest != SOCK_SEQPACKET && guest != SOCK_STREAM) return refuse("the guest's end is not a socket of its kind");
  if (unix_socket_type(fds[2].get()) != SOCK_SEQPACKET) return refuse("init's end is not a socket of its kind");
  if (!is_pipes_writing_end(fds[3].get()) || !is_pipes_writing_end(fds[4].get()))
    return refuse("an output is not the write end of a pipe");
  if (rules_.jails_cgroup.has_value() != (order.has_cgroup != 0))
    return refuse("jails have cgroups if and only if the daemon has them");
  if (rules_.jails_cgroup && !is_leaf_of(fds[5].get(), *rules_.jails_cgroup))
    return refuse("the cgroup is not a leaf of this daemon's jails");
  if (!jails_.has_room()) return refuse("the number of jails", ENOSPC);
  OrderVerdict verdict;
  if (::pread(fds[0].get(), &verdict.role, sizeof verdict.role, offsetof(Plan, role)) != sizeof verdict.role ||
      (verdict.role != Role::jail && verdict.role != Role::zygote))
    return refuse("the plan is neither a jail's nor a zygote's");
  return verdict;
}

int OrderCheck::add_jail(int pid, Fd pidfd, uint32_t runner_id, Role role) {
  return jails_.add(pid, std::move(pidfd), runner_id, role).pidfd.get();
}

OrderVerdict OrderCheck::judge_owner(const Order& order) const {
  if (order.owner_uid != rules_.daemon_uid || order.owner_gid != rules_.daemon_gid)
    return refuse("the ids to be mapped are not the daemon's");
  return allow();
}

OrderVerdict OrderCheck::judge_attach(const Order& order, std::vector<Fd>& fds) {
  if (fds.size() != (order.staged ? 3u : 2u)) return wrong_descriptors();
  if (auto owner = judge_owner(order); !owner) return owner;
  if (const char* why = folders_.judge(fds[1].get()).refused_by) return refuse(why);
  if (order.staged) {
    if (order.read_only) return refuse("a workspace is either staged or read-only", EINVAL);
    const auto staging = folders_.judge(fds[2].get());
    if (staging.refused_by) return refuse(staging.refused_by);
    if (staging.single) return refuse("the staging folder is not below a folder for workspaces");
  }
  const int pid = pid_of(fds[0].get());
  LivingJail* jail = jails_.find(pid);
  const LivingJail* home = jail ? nullptr : jails_.home_of_fork(fds[0].get(), pid);
  if (!jail && !home) return not_a_jail(fds[0].get());
  const uint32_t runner = jail ? jail->runner_id : home->runner_id;
  if (order.runner_id != runner) return refuse("the runner's host id is not the jail's");
  if ((order.map_ids != 0) != (runner != rules_.daemon_uid))
    return refuse("ids are mapped if they differ, and only then");
  if (jail && jail->role == Role::zygote) return refuse("a zygote's home has no workspace");
  if (jail && jail->attached) return refuse("the jail already has its workspace");
  if (!jail) {
    if (!jails_.has_room()) return refuse("the number of jails", ENOSPC);
    jail = &jails_.add(pid, std::move(fds[0]), runner, Role::forked);
  }
  jail->attached = true;
  return allow(jail);
}

OrderVerdict OrderCheck::judge_end(std::vector<Fd>& fds) {
  if (fds.size() != 1) return wrong_descriptors();
  const int pid = pid_of(fds[0].get());
  if (LivingJail* jail = jails_.find(pid)) return allow(jail);
  return jails_.home_of_fork(fds[0].get(), pid) ? allow() : not_a_jail(fds[0].get());
}

// Only processes with the id of the jail's code are changed (priority.h), so that id must be no other process's.
OrderVerdict OrderCheck::judge_priority(const Order& order, const std::vector<Fd>& fds) {
  constexpr uint32_t kLowest = 19;
  if (fds.empty() || fds.size() > 1 + kMaxNamed) return wrong_descriptors();
  if (order.nice > kLowest || order.session_nice > kLowest) return refuse("the nice value", EINVAL);
  const int pid = pid_of(fds[0].get());
  const LivingJail* jail = jails_.find(pid);
  if (!jail) jail = jails_.home_of_fork(fds[0].get(), pid);
  if (!jail) return not_a_jail(fds[0].get());
  if (!rules_.separated || jail->runner_id == rules_.daemon_uid)
    return refuse("the jail's code has the daemon's host id, so the daemon can do it by itself");
  OrderVerdict verdict;
  verdict.runner_id = jail->runner_id;
  return verdict;
}

OrderVerdict OrderCheck::judge_count(const std::vector<Fd>& fds) {
  if (fds.size() != 1) return wrong_descriptors();
  LivingJail* jail = jails_.find(pid_of(fds[0].get()));
  if (!jail) return not_a_jail(fds[0].get());
  return jail->attached ? allow(jail) : refuse("the jail has no workspace");
}

OrderVerdict OrderCheck::judge_probe(const Order& order, const std::vector<Fd>& fds) const {
  if (fds.size() != 1) return wrong_descriptors();
  if (!rules_.separated || order.map_ids == 0) return refuse("only a daemon of root maps mounts");
  if (auto owner = judge_owner(order); !owner) return owner;
  if (!rules_.ids.has_runner(order.runner_id)) return refuse("the runner's host id is not of the jails' range");
  if (const char* why = folders_.judge(fds[0].get()).refused_by) return refuse(why);
  return allow();
}

// A workspace's project is named after its inode (supervisor/tenants/project.h).
OrderVerdict OrderCheck::judge_project(const Order& order, const std::vector<Fd>& fds) const {
  if (fds.size() != 1) return wrong_descriptors();
  const auto folder = folders_.judge(fds[0].get());
  if (folder.refused_by) return refuse(folder.refused_by);
  if (folder.single || folder.inode >= kFirstProject || order.project != kFirstProject + folder.inode)
    return refuse("the project is not that of the workspace");
  return allow();
}

}  // namespace jail
