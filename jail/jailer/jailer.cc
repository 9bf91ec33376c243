#include "jail/jailer/jailer.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/fd_message.h"
#include "jail/jailer/listener.h"
#include "jail/jailer/own_rights.h"
#include "jail/jailer/priority.h"
#include "jail/jailer/project_limits.h"
#include "jail/jailer/staged_mount.h"
#include "jail/plan.h"
#include "jail/spawn.h"

namespace jail {
namespace {

constexpr const char* name_of(OrderType type) {
  constexpr const char* kNames[] = {"",     "build a jail",    "attach a folder",  "end a jail", "probe mapped ids",
                                    "fork", "limit a project", "lower a priority", "count files"};
  const auto number = static_cast<uint32_t>(type);
  return number > 0 && number < std::size(kNames) ? kNames[number] : "execute an unknown order";
}

// Moves the mount to /workspace of the present mount namespace, and checks that it is the directory there. Returns 0 or
// a positive errno.
int move_to_workspace(int tree, int directory) {
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, "/workspace", MOVE_MOUNT_F_EMPTY_PATH) < 0) return errno;
  const Fd attached(open("/workspace", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat wanted {
  }, got{};
  struct statvfs flags {};
  if (!attached || fstat(directory, &wanted) < 0 || fstat(attached.get(), &got) < 0 ||
      fstatvfs(attached.get(), &flags) < 0)
    return errno;
  const bool right = wanted.st_dev == got.st_dev && wanted.st_ino == got.st_ino && (flags.f_flag & ST_NOSUID) &&
                     (flags.f_flag & ST_NODEV);
  return right ? 0 : EXDEV;
}

}  // namespace

Result<> Jailer::prepare() {
  signal(SIGCHLD, SIG_IGN);  // the kernel reaps children; a pidfd shows their end
  signal(SIGPIPE, SIG_IGN);
  for (int s : {SIGTERM, SIGINT, SIGHUP}) signal(s, SIG_IGN);  // the daemon decides, and the jailer ends with it
  if (fchdir(setup_.template_dir.get()) < 0) return fail_errno(errno, "enter the jail template");
  const Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null || dup2(null.get(), STDIN_FILENO) < 0 || dup2(null.get(), STDOUT_FILENO) < 0)
    return fail_errno(errno, "open /dev/null");
  own_mounts_ = Fd(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!own_mounts_) return fail_errno(errno, "open /proc/self/ns/mnt");
  CHECKED(keep_needed_rights(setup_.privileged ? std::optional(setup_.daemon_gid) : std::nullopt));
  CHECKED(prepare_check());
  // This is the last step, because a change of ids clears the setting (prctl(2)). If the daemon is already gone, the
  // socket shows end of file.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return fail_errno(errno, "prctl PR_SET_PDEATHSIG");
  return {};
}

int Jailer::serve() {
  for (;;) {
    Order order{};
    auto received = receive_message(orders_.get(), &order, sizeof order, kMaxFdsOfMessage);
    if (!received) {
      log_.write({received.error().what});
      return 0;  // the daemon sends whole orders only; any other message is not the daemon's
    }
    if (!received->open) return 0;
    handle(order, received->fds);
  }
}

Result<> Jailer::prepare_check() {
  OrderRules rules;
  rules.separated = setup_.privileged;
  rules.ids = setup_.ids;
  rules.daemon_uid = setup_.daemon_uid;
  rules.daemon_gid = setup_.daemon_gid;
  if (setup_.jails_cgroup) {
    struct stat info {};
    if (fstat(setup_.jails_cgroup.get(), &info) < 0) return fail_errno(errno, "read the status of the jails' cgroup");
    rules.jails_cgroup = OrderRules::CgroupId{info.st_dev, info.st_ino};
    setup_.jails_cgroup.reset();
  }
  TRY(AllowedFolders folders, AllowedFolders::make(std::move(setup_.workspace_parents),
                                                   std::exchange(setup_.single_folders, {}), rules.daemon_uid));
  if (rules.separated) {
    Fd tree;
    Mapping as_workspaces{true, rules.ids.first_runner(), false};
    rules.maps_mounts = make_tree(as_workspaces, folders.first_parent(), tree).error == 0;
  }
  check_.emplace(rules, std::move(folders));
  return {};
}

void Jailer::handle(const Order& order, std::vector<Fd>& fds) {
  Failure failure{Step::none, 0};
  int pidfd = -1;  // borrowed
  Fd listener;
  const OrderVerdict verdict = check_->judge(order, fds);
  if (!verdict) {
    if (verdict.error != ESRCH) log_.write({"refused the order to ", name_of(order.type), ": ", verdict.why});
    failure = {order.type == OrderType::attach ? Step::attach_workspace : Step::none, verdict.error};
  } else if (order.type == OrderType::build) {
    failure = build(order, fds, verdict.role, pidfd);
  } else if (order.type == OrderType::attach) {
    const int init = verdict.jail->pidfd.get();
    failure = order.staged ? attach_staged(order, init, fds[1].get(), fds[2].get()) : attach(order, init, fds[1].get());
    if (order.listens && !failure.error) {
      listener = make_listener(init, failure.error);
      if (failure.error) failure.step = Step::listen;
    }
  } else if (order.type == OrderType::probe_idmap) {
    Fd tree;
    failure = make_tree({true, order.runner_id, false}, fds[0].get(), tree);
  } else if (order.type == OrderType::limit_project) {
    failure.error = set_project_limits(fds[0].get(), order.project, {order.bytes, order.inodes});
  } else if (order.type == OrderType::count_files) {
    failure.error = counters_.start(verdict.jail->pid, orders_.get(), order.token);
    if (failure.error == 0) return;  // the child answers
  } else if (order.type == OrderType::end) {
    const int init = verdict.jail ? verdict.jail->pidfd.get() : fds[0].get();
    syscall(SYS_pidfd_send_signal, init, SIGKILL, nullptr, 0);
  }
  if (order.type == OrderType::lower_priority && verdict) {
    const CodeIds ids{verdict.runner_id, check_->rules().init_id()};
    lower_priority(ids, static_cast<int>(order.nice), static_cast<int>(order.session_nice), fds);
  }
  if (order.type == OrderType::end || order.type == OrderType::lower_priority) return;
  JailerAnswer answer{order.token, failure.error, failure.step, 0};
  std::vector<int> out;
  if (pidfd >= 0) out.push_back(pidfd);
  if (listener) out.push_back(listener.get());
  if (auto sent = send_message(orders_.get(), &answer, sizeof answer, out); !sent) log_.write({sent.error().what});
}

// The gids of jails have the same numbers as their uids; only the daemon's gid may differ.
HostIds Jailer::host_ids(const Order& order) const {
  auto gid_of = [this](uint32_t uid) { return uid == setup_.daemon_uid ? setup_.daemon_gid : uid; };
  return {order.init_id, gid_of(order.init_id), order.runner_id, gid_of(order.runner_id)};
}

Jailer::Failure Jailer::build(const Order& order, std::vector<Fd>& fds, Role role, int& pidfd) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) < 0) return {Step::none, errno};
  Fd go_read(go[0]), go_write(go[1]);
  SpawnPlan plan{};
  plan.init = setup_.init.get();
  plan.null = STDIN_FILENO;
  plan.plan = fds[0].get();
  plan.guest = fds[1].get();
  plan.control = fds[2].get();
  plan.out = fds[3].get();
  plan.err = fds[4].get();
  plan.cgroup = order.has_cgroup ? fds[5].get() : -1;
  plan.go_read = go_read.get();
  plan.go_write = go_write.get();
  Spawned spawned{};
  if (int error = spawn_jail(plan, spawned)) return {Step::wait_for_ids, error};
  Fd init(spawned.pidfd);
  if (auto mapped = map_ids(spawned.pid, spawned.pidfd, order.identity, host_ids(order)); !mapped) {
    log_.write({mapped.error().what});
    return {Step::wait_for_ids, mapped.error().err ? mapped.error().err : EIO};  // closing the pipe ends the child
  }
  if (::write(go_write.get(), "g", 1) != 1) return {Step::wait_for_ids, errno};
  pidfd = check_->add_jail(spawned.pid, std::move(init), order.runner_id, role);
  return {Step::none, 0};
}

// Makes a detached mount of the directory: nosuid, nodev, and, if asked, with the daemon's ids mapped to the
// runner's. It is private: a copy of a shared mount, as systemd makes the host's, would else show the host what is
// mounted on it in the jail (mount_namespaces(7)).
Jailer::Failure Jailer::make_tree(const Mapping& mapping, int directory, Fd& tree) {
  tree =
      Fd(static_cast<int>(syscall(SYS_open_tree, directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree) return {Step::attach_workspace, errno};
  mount_attr attributes{};
  attributes.propagation = MS_PRIVATE;
  attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (mapping.read_only ? MOUNT_ATTR_RDONLY : 0);
  if (mapping.map_ids) {
    auto space = mappings_.find_or_make(setup_.daemon_uid, setup_.daemon_gid, mapping.runner_id);
    if (!space) return {Step::attach_workspace, space.error().err ? space.error().err : EIO};
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<uint64_t>(*space);
  }
  if (syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
    return {Step::attach_workspace, errno};
  return {Step::none, 0};
}

// Mounts from outside, because the jail's init has no capability for it. Init waits and no tenant code has run yet,
// so the mount namespace holds only what jail-init made.
Jailer::Failure Jailer::attach(const Order& order, int init, int directory) {
  Fd tree;
  const Mapping mapping{order.map_ids != 0, order.runner_id, order.read_only != 0};
  if (Failure failure = make_tree(mapping, directory, tree); failure.error) return failure;
  if (setns(init, CLONE_NEWNS) < 0) return {Step::attach_workspace, errno};
  const int error = move_to_workspace(tree.get(), directory);
  // Returns to the jailer's own namespace; otherwise it would build the next jail in the wrong one.
  if (setns(own_mounts_.get(), CLONE_NEWNS) < 0 || fchdir(setup_.template_dir.get()) < 0) {
    log_.write({"cannot leave a jail's mount namespace: ", strerrordesc_np(errno)});
    _exit(1);
  }
  return {error ? Step::attach_workspace : Step::none, error};
}

Jailer::Failure Jailer::attach_staged(const Order& order, int init, int workspace, int staging) {
  Fd lower, upper;
  const bool maps = order.map_ids != 0;
  if (Failure failure = make_tree({maps, order.runner_id, true}, workspace, lower); failure.error) return failure;
  if (Failure failure = make_tree({maps, order.runner_id, false}, staging, upper); failure.error) return failure;
  const uint32_t code = setup_.privileged ? kRunnerId : kInitId;  // see Identity
  const int error = mount_staged({init, lower.get(), upper.get(), code});
  return {error ? Step::stage_workspace : Step::none, error};
}

}  // namespace jail
