#include "jail/jailer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "jail/fd_message.h"
#include "jail/id_map.h"
#include "jail/listener.h"
#include "jail/order_check.h"
#include "jail/spawn.h"
#include "jail/staged_mount.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "supervisor/base/project_quota.h"

namespace jail {
namespace {

// Capabilities by job: map ids (SETUID, SETGID); mount with mapped ids, enter mount namespaces, limit projects
// (SYS_ADMIN, SYS_CHROOT); pin oom_score_adj (SYS_RESOURCE); end jails of other ids (KILL).
constexpr cap_value_t kKept[] = {CAP_SETUID, CAP_SETGID, CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_RESOURCE, CAP_KILL};

Result<> keep_only_what_is_needed(unsigned group) {
  std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)> before(cap_get_proc(), cap_free);
  if (setgroups(0, nullptr) < 0) return fail_errno(errno, "setgroups");
  if (setresgid(group, group, group) < 0) return fail_errno(errno, "setresgid");
  for (cap_value_t cap = 0; cap <= cap_max_bits(); cap++) {
    bool kept = false;
    for (cap_value_t k : kKept) kept |= k == cap;
    if (!kept && cap_get_bound(cap) > 0 && cap_drop_bound(cap) < 0)
      return fail_errno(errno, "drop a bounding capability");
  }
  cap_t caps = cap_init();
  if (!caps) return fail(Code::internal, "cap_init: out of memory");
  for (cap_value_t cap : kKept) {
    cap_flag_value_t held = CAP_CLEAR;
    if (!before || cap_get_flag(before.get(), cap, CAP_PERMITTED, &held) < 0 || held == CAP_CLEAR) {
      // Containers and some machines withhold this capability. Then jailed code can lower its oom_score_adj again.
      if (cap == CAP_SYS_RESOURCE) continue;
      return fail(Code::unavailable, fmt::format("the daemon was started without capability {}", cap),
                  "add the capability to CapabilityBoundingSet= of the service");
    }
    cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET);
    cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET);
  }
  int rc = cap_set_proc(caps);
  int error = errno;
  cap_free(caps);
  if (rc < 0) return fail_errno(error, "cap_set_proc");
  // After the change of group this process is non-dumpable, and could not read its children's /proc files.
  if (prctl(PR_SET_DUMPABLE, 1) < 0) return fail_errno(errno, "prctl PR_SET_DUMPABLE");
  return {};
}

struct Failure {
  Step step;
  int error;
};

constexpr const char* name_of(OrderType type) {
  constexpr const char* kNames[] = {"",     "build a jail",   "attach a folder", "end a jail", "probe mapped ids",
                                    "fork", "limit a project"};
  const auto number = static_cast<uint32_t>(type);
  return number > 0 && number < std::size(kNames) ? kNames[number] : "execute an unknown order";
}

// OrderLog: log lines about failed orders, at most kMaxAMinute a minute: a sender of bad orders must not fill the log.
class OrderLog {
 public:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    const auto now = Monotonic::now();
    if (now - since_ >= std::chrono::minutes(1)) {
      if (left_out_ > 0) log_error("jailer: {} more lines of this kind were left out", left_out_);
      since_ = now;
      said_ = left_out_ = 0;
    }
    if (said_ < kMaxAMinute) {
      said_++;
      log_error("jailer: {}", fmt::format(format, std::forward<Args>(args)...));
    } else {
      left_out_++;
    }
  }

 private:
  static constexpr unsigned kMaxAMinute = 20;
  Monotonic::time_point since_ = Monotonic::now();
  uint64_t said_ = 0, left_out_ = 0;
};

class Jailer {
 public:
  Jailer(JailerConfig config, Fd orders) : config_(std::move(config)), orders_(std::move(orders)) {}

  Result<> prepare() {
    signal(SIGCHLD, SIG_IGN);  // the kernel reaps children; a pidfd shows their end
    signal(SIGPIPE, SIG_IGN);
    for (int s : {SIGTERM, SIGINT, SIGHUP}) signal(s, SIG_IGN);  // the daemon decides, and the jailer ends with it
    if (fchdir(config_.template_dir.get()) < 0) return fail_errno(errno, "enter the jail template");
    null_ = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null_) return fail_errno(errno, "open /dev/null");
    own_mounts_ = Fd(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (!own_mounts_) return fail_errno(errno, "open /proc/self/ns/mnt");
    if (config_.privileged) CHECKED(keep_only_what_is_needed(config_.daemon_gid));
    CHECKED(prepare_check());
    // This is the last step, because a change of ids clears the setting (prctl(2)). If the daemon is already gone, the
    // socket shows end of file.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return fail_errno(errno, "prctl PR_SET_PDEATHSIG");
    return {};
  }

  void serve() {
    for (;;) {
      Order order{};
      auto received = receive_message(orders_.get(), &order, sizeof order, kMaxFdsOfMessage);
      if (!received) {
        log_error("jailer: {}", received.error().what);
        return;  // the daemon sends whole orders only; any other message is not the daemon's
      }
      if (!received->open) return;
      handle(order, received->fds);
    }
  }

 private:
  Result<> prepare_check() {
    OrderRules rules;
    rules.separated = config_.privileged;
    rules.ids = config_.ids;
    rules.daemon_uid = config_.daemon_uid;
    rules.daemon_gid = config_.daemon_gid;
    if (config_.jails_cgroup) {
      struct stat info {};
      if (fstat(config_.jails_cgroup.get(), &info) < 0)
        return fail_errno(errno, "read the status of the jails' cgroup");
      rules.jails_cgroup = OrderRules::CgroupId{info.st_dev, info.st_ino};
      config_.jails_cgroup.reset();
    }
    TRY(AllowedFolders folders, AllowedFolders::make(std::move(config_.workspace_parents),
                                                     std::exchange(config_.single_folders, {}), rules.daemon_uid));
    if (rules.separated) {
      Fd tree;
      Mapping as_workspaces{true, rules.ids.first_runner(), false};
      rules.maps_mounts = make_tree(as_workspaces, folders.first_parent(), tree).error == 0;
    }
    check_.emplace(rules, std::move(folders));
    return {};
  }

  void handle(const Order& order, std::vector<Fd>& fds) {
    Failure failure{Step::none, 0};
    int pidfd = -1;  // borrowed
    Fd listener;
    const OrderVerdict verdict = check_->judge(order, fds);
    if (!verdict) {
      if (verdict.error != ESRCH) log_.say("refused the order to {}: {}", name_of(order.type), verdict.why);
      failure = {order.type == OrderType::attach ? Step::attach_workspace : Step::none, verdict.error};
    } else if (order.type == OrderType::build) {
      failure = build(order, fds, verdict.role, pidfd);
    } else if (order.type == OrderType::attach) {
      const int init = verdict.jail->pidfd.get();
      failure =
          order.staged ? attach_staged(order, init, fds[1].get(), fds[2].get()) : attach(order, init, fds[1].get());
      if (order.listens && !failure.error) {
        listener = make_listener(init, failure.error);
        if (failure.error) failure.step = Step::listen;
      }
    } else if (order.type == OrderType::probe_idmap) {
      Fd tree;
      failure = make_tree({true, order.runner_id, false}, fds[0].get(), tree);
    } else if (order.type == OrderType::limit_project) {
      failure = limit_project(order, fds[0].get());
    } else if (order.type == OrderType::end) {
      const int init = verdict.jail ? verdict.jail->pidfd.get() : fds[0].get();
      syscall(SYS_pidfd_send_signal, init, SIGKILL, nullptr, 0);
    }
    if (order.type == OrderType::end) return;
    JailerAnswer answer{order.token, failure.error, failure.step, 0};
    std::vector<int> out;
    if (pidfd >= 0) out.push_back(pidfd);
    if (listener) out.push_back(listener.get());
    if (auto sent = send_message(orders_.get(), &answer, sizeof answer, out); !sent) log_.say("{}", sent.error().what);
  }

  // The gids of jails have the same numbers as their uids; only the daemon's gid may differ.
  HostIds host_ids(const Order& order) const {
    auto gid_of = [this](uint32_t uid) { return uid == config_.daemon_uid ? config_.daemon_gid : uid; };
    return {order.init_id, gid_of(order.init_id), order.runner_id, gid_of(order.runner_id)};
  }

  Failure build(const Order& order, std::vector<Fd>& fds, Role role, int& pidfd) {
    int go[2];
    if (pipe2(go, O_CLOEXEC) < 0) return {Step::none, errno};
    Fd go_read(go[0]), go_write(go[1]);
    SpawnPlan plan{};
    plan.init = config_.init.get();
    plan.null = null_.get();
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
      log_.say("{}", mapped.error().what);
      return {Step::wait_for_ids, mapped.error().err ? mapped.error().err : EIO};  // closing the pipe ends the child
    }
    if (::write(go_write.get(), "g", 1) != 1) return {Step::wait_for_ids, errno};
    pidfd = check_->add_jail(spawned.pid, std::move(init), order.runner_id, role);
    return {Step::none, 0};
  }

  struct Mapping {
    bool map_ids;
    uint32_t runner_id;
    bool read_only;
  };

  // Makes a detached mount of the directory: nosuid, nodev, and, if asked, with the daemon's ids mapped to the
  // runner's. It is private: a copy of a shared mount, as systemd makes the host's, would else show the host what is
  // mounted on it in the jail (mount_namespaces(7)).
  Failure make_tree(const Mapping& mapping, int directory, Fd& tree) {
    tree = Fd(
        static_cast<int>(syscall(SYS_open_tree, directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
    if (!tree) return {Step::attach_workspace, errno};
    mount_attr attributes{};
    attributes.propagation = MS_PRIVATE;
    attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (mapping.read_only ? MOUNT_ATTR_RDONLY : 0);
    if (mapping.map_ids) {
      auto space = mappings_.find_or_make(config_.daemon_uid, config_.daemon_gid, mapping.runner_id);
      if (!space) return {Step::attach_workspace, space.error().err ? space.error().err : EIO};
      attributes.attr_set |= MOUNT_ATTR_IDMAP;
      attributes.userns_fd = static_cast<uint64_t>(*space);
    }
    if (syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
      return {Step::attach_workspace, errno};
    return {Step::none, 0};
  }

  static Failure limit_project(const Order& order, int directory) {
    auto set = set_project_limits(directory, order.project, {order.bytes, order.inodes});
    return {Step::none, set ? 0 : set.error().err ? set.error().err : EIO};
  }

  // Mounts from outside, because the jail's init has no capability for it. Init waits and no tenant code has run yet,
  // so the mount namespace holds only what jail-init made.
  Failure attach(const Order& order, int init, int directory) {
    Fd tree;
    const Mapping mapping{order.map_ids != 0, order.runner_id, order.read_only != 0};
    if (Failure failure = make_tree(mapping, directory, tree); failure.error) return failure;
    if (setns(init, CLONE_NEWNS) < 0) return {Step::attach_workspace, errno};
    Failure failure = move_and_verify(tree.get(), directory);
    // Returns to the jailer's own namespace; otherwise it would build the next jail in the wrong one.
    if (setns(own_mounts_.get(), CLONE_NEWNS) < 0 || fchdir(config_.template_dir.get()) < 0) {
      log_error("jailer: cannot leave a jail's mount namespace: {}", std::generic_category().message(errno));
      _exit(1);
    }
    return failure;
  }

  Failure attach_staged(const Order& order, int init, int workspace, int staging) {
    Fd lower, upper;
    const bool maps = order.map_ids != 0;
    if (Failure failure = make_tree({maps, order.runner_id, true}, workspace, lower); failure.error) return failure;
    if (Failure failure = make_tree({maps, order.runner_id, false}, staging, upper); failure.error) return failure;
    const uint32_t code = config_.privileged ? kRunnerId : kInitId;  // see Identity
    const int error = mount_staged({init, lower.get(), upper.get(), code});
    return {error ? Step::stage_workspace : Step::none, error};
  }

  Failure move_and_verify(int tree, int directory) {
    if (syscall(SYS_move_mount, tree, "", AT_FDCWD, "/workspace", MOVE_MOUNT_F_EMPTY_PATH) < 0)
      return {Step::attach_workspace, errno};
    Fd attached(open("/workspace", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat wanted {
    }, got{};
    struct statvfs flags {};
    if (!attached || fstat(directory, &wanted) < 0 || fstat(attached.get(), &got) < 0 ||
        fstatvfs(attached.get(), &flags) < 0)
      return {Step::attach_workspace, errno};
    bool right = wanted.st_dev == got.st_dev && wanted.st_ino == got.st_ino && (flags.f_flag & ST_NOSUID) &&
                 (flags.f_flag & ST_NODEV);
    return {right ? Step::none : Step::attach_workspace, right ? 0 : EXDEV};
  }

  JailerConfig config_;
  Fd orders_;
  Fd null_, own_mounts_;
  MountMappings mappings_;
  std::optional<OrderCheck> check_;  // set by prepare()
  OrderLog log_;
};

// Closes all other descriptors. A listening socket left open here would let clients wait for a daemon that has ended.
void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (int fd : kept) {
    unsigned number = static_cast<unsigned>(fd);
    if (number > first) ::close_range(first, number - 1, 0);
    first = std::max(first, number + 1);
  }
  ::close_range(first, ~0U, 0);
}

}  // namespace

Result<Fd> fork_jailer(JailerConfig config) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno(errno, "socketpair");
  Fd daemon_end(ends[0]), jailer_end(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork the jailer");
  if (pid > 0) return daemon_end;
  daemon_end.reset();
  std::vector<int> kept{config.template_dir.get(), config.init.get(), jailer_end.get()};
  if (config.jails_cgroup) kept.push_back(config.jails_cgroup.get());
  for (const auto* folders : {&config.workspace_parents, &config.single_folders})
    for (const Fd& folder : *folders) kept.push_back(folder.get());
  close_all_but(std::move(kept));
  int status = 0;
  {
    Jailer jailer(std::move(config), std::move(jailer_end));
    if (auto ready = jailer.prepare(); ready) {
      jailer.serve();
    } else {
      log_error("jailer: {}", ready.error().what);
      status = 1;
    }
  }
  ::_exit(status);  // skips the daemon's destructors and exit handlers
}

}  // namespace jail
