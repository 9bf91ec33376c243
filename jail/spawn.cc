#include "jail/spawn.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

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
    if (moved[i] < 0) give_up(plan.control, Step::place_fds);
  }
  int init = plan.init < 0 ? -1 : ::fcntl(plan.init, F_DUPFD_CLOEXEC, kFirstFreeFd);
  if (init < 0 && plan.init >= 0) give_up(plan.control, Step::place_fds);
  for (int i = 0; i < 6; i++) {
    if (::dup2(moved[i], i) < 0) give_up(moved[4], Step::place_fds);
  }
  if (::syscall(SYS_close_range, 6u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0) give_up(kControlFd, Step::place_fds);

  if (init < 0) {
    plan.build();
    ::_exit(127);
  }
  char name[] = "warder-jail-init";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  ::syscall(SYS_execveat, init, "", argv, envp, AT_EMPTY_PATH);
  give_up(kControlFd, Step::exec_init);
}

}  // namespace

int spawn_jail(const SpawnPlan& plan, Spawned& spawned) {
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD;
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
