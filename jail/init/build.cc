// The work of process 1 in a jail: runs the steps, starts the runner, reaps processes, reports the runner's end.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {

int runner_pid = -1;

namespace {

// The jailer and the daemon may die at any moment. prctl() covers the jailer's death. The daemon's death closes its end
// of the control socket, and poll() sees the hang-up. If the jailer died before the prctl(), the daemon dies with it,
// and poll() sees that, too.
int die_with_parent() {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return errno;
  // The jailer ignores SIGCHLD, and exec() keeps that: init would never learn that the runner ended.
  if (signal(SIGCHLD, SIG_DFL) == SIG_ERR) return errno;
  if (prctl(PR_SET_DUMPABLE, 0) < 0) return errno;  // no ptrace, no /proc/1/mem for a process of the same id
  pollfd control{kControlFd, 0, 0};
  if (poll(&control, 1, 0) > 0 && (control.revents & (POLLHUP | POLLERR))) return ESRCH;
  return 0;
}

struct Row {
  Step step;
  int (*run)();
};

// The tables show the order of the steps.
constexpr Row kJail[] = {
    {Step::parent_death, die_with_parent},
    {Step::cgroup_namespace, make_cgroup_namespace},
    {Step::private_mounts, make_mounts_private},
    {Step::root_overlay, mount_root},
    {Step::usr_overlay, mount_usr},
    {Step::devices, bind_devices},
    {Step::temporary_files, mount_temporary_files},
    {Step::proc, mount_proc},
    {Step::forbid_namespaces, forbid_namespaces},
    {Step::hostname, set_hostname},
    {Step::loopback, raise_loopback},
    {Step::proc_entries, hide_kernel},  // after the writes below /proc/sys
    {Step::pivot, pivot},
    {Step::fork_runner, fork_runner},  // the runner drops its rights by itself before it execs
    {Step::init_lock, lock_init},      // init drops its own rights as soon as the runner is forked
};

// The home of a zygote: a small root that shows only /usr of the host, and the template that its jails' roots are
// mounted from.
constexpr Row kZygote[] = {
    {Step::parent_death, die_with_parent},
    {Step::cgroup_namespace, make_cgroup_namespace},
    {Step::private_mounts, make_mounts_private},
    {Step::root_overlay, mount_root},
    {Step::usr_overlay, mount_usr},
    {Step::devices, bind_devices},
    {Step::temporary_files, mount_template},
    {Step::proc, mount_whole_proc},
    {Step::hostname, set_hostname},
    {Step::pivot, pivot},
    {Step::fork_runner, fork_runner},
    {Step::init_lock, lock_init},
};

template <int kCount>
void walk(const Row (&rows)[kCount]) {
  for (const Row& row : rows) take(row.step, row.run);
}

// Every namespace is new now: their numbers are evidence for the receipt.
int read_namespaces() {
  const int links = open("/proc/self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (links < 0) return errno;
  int error = 0;
  for (int i = 0; i < kNamespaceCount && error == 0; i++) {
    char text[32];  // "net:[4026531840]"
    const ssize_t length = readlinkat(links, kNamespaces[i], text, sizeof text);
    error = length < 0 ? errno : 0;
    uint32_t number = 0;
    for (ssize_t at = 0; at < length; at++)
      if (text[at] >= '0' && text[at] <= '9') number = number * 10 + static_cast<uint32_t>(text[at] - '0');
    report.namespaces[i] = number;
  }
  close(links);
  return error;
}

}  // namespace

int make_cgroup_namespace() {
  if (plan->role != Role::forked) return unshare(CLONE_NEWCGROUP) < 0 ? errno : read_namespaces();
  // A forked runner shares init's cgroup namespace, so that one was made before the fork. One clone(2) made the others,
  // and the next steps are the evidence: the zygote may not mount, and the capabilities of a new user namespace
  // count only for mounts, host names, interfaces and a /proc of namespaces that it owns (user_namespaces(7)).
  for (uint32_t& number : report.namespaces) number = kOwnNamespace;
  return 0;
}

int forbid_namespaces() {
  // The limit belongs to the user namespace of the process that opens the file. In the jail's own /proc the name is
  // found sooner than among the entries of all living jails. With a shared identity the runner needs one nested
  // namespace: while that one exists, the limit of 1 is used up.
  const char* limit = plan->identity == Identity::shared ? "1" : "0";
  int fd = open("mount/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = write(fd, limit, 1) == 1 ? 0 : errno;
  close(fd);
  return error;
}

void build() {
  if (plan->role == Role::zygote) {
    walk(kZygote);
  } else {
    walk(kJail);
  }
  report.event = InitEvent::built;
  if (::write(kControlFd, &report, sizeof report) != sizeof report) ::_exit(126);
  reap_until_runner_ends();
}

}  // namespace jail::init
