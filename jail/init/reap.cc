// Init after the jail is built: without capabilities, filtered, waiting. It reaps the processes that the runner leaves,
// reports how the runner ended, and exits; its exit ends every process of the jail (pid_namespaces(7)).
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstddef>

#include "jail/init/architecture.h"
#include "jail/init/capabilities.h"
#include "jail/init/steps.h"

namespace jail::init {
namespace {

#ifdef SYS_poll
constexpr unsigned kPoll = SYS_poll;
#else
constexpr unsigned kPoll = SYS_ppoll;  // aarch64 has no poll: the C library's poll() calls ppoll
#endif

int child_signal = -1;  // signalfd
int children = -1;      // /proc/1/task/1/children; -1 where the kernel has no such file

// All system calls that init still makes: wait, poll, read, write, exit, and the time, which is a system call where the
// clock source cannot be read from user space (vdso(7)).
constexpr unsigned kAllowed[] = {SYS_wait4,      kPoll,    SYS_read,          SYS_write,        SYS_getrusage,
                                 SYS_exit_group, SYS_exit, SYS_clock_gettime, SYS_rt_sigreturn, SYS_restart_syscall};

constexpr unsigned highest_allowed() {
  unsigned highest = 0;
  for (const unsigned call : kAllowed) highest = call > highest ? call : highest;
  return highest;
}
constexpr unsigned kHighestAllowed = highest_allowed();

int filter_own_calls() {
  constexpr int kCount = sizeof kAllowed / sizeof kAllowed[0];
  sock_filter code[3 + 2 + kCount + 2];
  int n = 0;
  auto add = [&](uint16_t op, uint8_t jump_true, uint8_t jump_false, uint32_t k) {
    code[n++] = {op, jump_true, jump_false, k};
  };
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kArchitecture);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr));
  // The kernel asks a new filter about each number; this line answers half of them.
  add(BPF_JMP | BPF_JGT | BPF_K, kCount, 0, kHighestAllowed);
  for (int i = 0; i < kCount; i++) add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint8_t>(kCount - i), 0, kAllowed[i]);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  sock_fprog program{static_cast<unsigned short>(n), code};
  return outcome_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

// The number of init's children now. The file lists their pids, each followed by a space (proc(5)). Children of these
// children are not counted.
uint32_t count_children() {
  if (children < 0) return kUncounted;
  uint32_t count = 0;
  char text[4096];
  for (;;) {
    const ssize_t n = read(children, text, sizeof text);
    if (n < 0) return kUncounted;
    if (n == 0) return count > 0 ? count : kUncounted;
    for (ssize_t i = 0; i < n; i++) count += text[i] == ' ';
  }
}

void add_usage(int scope) {
  rusage usage{};
  if (getrusage(scope, &usage) < 0) return;
  report.user_us =
      static_cast<uint64_t>(usage.ru_utime.tv_sec) * 1'000'000 + static_cast<uint64_t>(usage.ru_utime.tv_usec);
  report.system_us =
      static_cast<uint64_t>(usage.ru_stime.tv_sec) * 1'000'000 + static_cast<uint64_t>(usage.ru_stime.tv_usec);
  report.max_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

int lock_init() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  child_signal = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (child_signal < 0) return errno;
  for (int fd = 0; fd <= kGuestFd; fd++) close(fd);  // the runner's; init must not hold its pipes open
  children = open("/proc/1/task/1/children", O_RDONLY | O_CLOEXEC);
  if (int error = drop_bounding_set()) return error;
  if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                                   SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) < 0)
    return errno;
  if (int error = set_capabilities(0)) return error;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
  if (prctl(PR_SET_DUMPABLE, 0) < 0) return errno;
  return filter_own_calls();
}

void reap_until_runner_ends() {
  for (;;) {
    for (;;) {
      int status = 0;
      int pid = static_cast<int>(wait4(-1, &status, WNOHANG, nullptr));
      if (pid <= 0) break;
      if (pid != runner_pid) continue;
      // Processes that the runner left are children of init by now; those of them that have ended are reaped here.
      int rest;
      do rest = static_cast<int>(wait4(-1, nullptr, WNOHANG, nullptr));
      while (rest > 0);
      report.remaining_processes = rest == 0 ? count_children() : 0;
      add_usage(RUSAGE_CHILDREN);
      report.event = InitEvent::exited;
      report.wait_status = status;
      (void)!::write(kControlFd, &report, sizeof report);
      ::_exit(0);
    }
    pollfd waiting[2] = {{child_signal, POLLIN, 0}, {kControlFd, POLLIN, 0}};
    poll(waiting, 2, -1);
    // The daemon never writes here. A closed end means that the daemon no longer waits for this jail.
    if (waiting[1].revents) ::_exit(0);
    signalfd_siginfo drained;
    while (read(child_signal, &drained, sizeof drained) > 0) {
    }
  }
}

}  // namespace jail::init
