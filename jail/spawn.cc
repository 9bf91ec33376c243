#include "jail/spawn.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "jail/init_report.h"
#include "jail/jail_namespaces.h"
#include "jail/plan.h"

namespace jail {
namespace {

constexpr int kFirstFreeFd = 64;  // above every fixed number, so that dup2() to one cannot overwrite another

[[noreturn]] void give_up(int control, Step step) {
  InitReport report{};
  report.event = InitEvent::failed;
  report.step = step;
  report.error = errno;
  (void)!::write(control, &report, sizeof report);
  ::_exit(127);
}

[[noreturn]] void run_child(const SpawnPlan& plan) {
  if (plan.go_write >= 0) ::close(plan.go_write);
  char go = 0;
  if (::read(plan.go_read, &go, 1) != 1) ::_exit(127);  // the jailer is gone, or could not map the ids

  // Raw calls: glibc's wrappers would change the ids of all threads that it assumes this process to have.
  if (::syscall(SYS_setresgid, kInitId, kInitId, kInitId) < 0) give_up(plan.control, Step::become_root);
  if (::syscall(SYS_setresuid, kInitId, kInitId, kInitId) < 0) give_up(plan.control, Step::become_root);

  const int wanted[] = {plan.null, plan.out, plan.err, plan.guest, plan.control, plan.plan};
  int moved[6];
  for (int i = 0; i < 6; i++) {
    moved[i] = ::fcntl(wanted[i], F_DUPFD_CLOEXEC, kFirstFreeFd);
    if (moved[i] < 0) give_up(plan.control, Step::install_fds);
  }
  int init = ::fcntl(plan.init, F_DUPFD_CLOEXEC, kFirstFreeFd);
  if (init < 0) give_up(plan.control, Step::install_fds);
  for (int i = 0; i < 6; i++) {
    if (::dup2(moved[i], i) < 0) give_up(moved[4], Step::install_fds);
  }
  if (::syscall(SYS_close_range, 6u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0) give_up(kControlFd, Step::install_fds);

  if (plan.before_exec) plan.before_exec();
  char name[] = "warder-jail-init";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  ::syscall(SYS_execveat, init, "", argv, envp, AT_EMPTY_PATH);
  give_up(kControlFd, Step::exec_init);
}

constexpr uint64_t kFlags = kJailNamespaces | CLONE_PIDFD;

uint32_t sharing = 0;  // set to 0 by the kernel (CLONE_CHILD_CLEARTID) when the child no longer shares the memory

int enter_child(void* plan) { run_child(*static_cast<const SpawnPlan*>(plan)); }

// The C library's clone() starts the child on another stack.
int spawn_sharing(const SpawnPlan& plan, Spawned& spawned) {
  int pidfd = -1;
  sharing = 1;
  const int flags = static_cast<int>(kFlags) | CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD;
  const int pid = ::clone(enter_child, static_cast<char*>(plan.stack) + kSharingStackBytes, flags,
                          const_cast<SpawnPlan*>(&plan), &pidfd, nullptr, &sharing);
  if (pid < 0) {
    sharing = 0;
    return errno;
  }
  spawned = Spawned{pid, pidfd};
  return 0;
}

}  // namespace

void wait_for_exec() {
  while (__atomic_load_n(&sharing, __ATOMIC_ACQUIRE) != 0) ::syscall(SYS_futex, &sharing, FUTEX_WAIT, 1, nullptr);
}

int spawn_jail(const SpawnPlan& plan, Spawned& spawned) {
  if (plan.stack) return spawn_sharing(plan, spawned);
  int pidfd = -1;
  clone_args args{};
  args.flags = kFlags;
  args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  if (plan.cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;  // from the start, because charged memory does not move with a process
    args.cgroup = static_cast<uint64_t>(plan.cgroup);
  }
  long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return errno;
  if (pid == 0) run_child(plan);
  spawned = Spawned{static_cast<int>(pid), pidfd};
  return 0;
}

}  // namespace jail
