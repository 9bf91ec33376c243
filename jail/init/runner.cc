// The runner: forked by init, stripped of everything, then exec of the interpreter. The order is that of
// privileges falling away; each step names itself when it fails.
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstring>

#include "jail/init/steps.h"

namespace jail::init {
namespace {

int write_file(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  size_t length = strlen(text);
  int error = write(fd, text, length) == static_cast<ssize_t>(length) ? 0 : errno;
  close(fd);
  return error;
}

int start_session() {
  if (setsid() < 0) return errno;
  // A service manager may hand down ignored signals (systemd ignores SIGPIPE); jailed programs expect none.
  struct sigaction normal {};
  normal.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; s++) sigaction(s, &normal, nullptr);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) < 0) return errno;
  umask(022);
  // A service may run above normal priority; its jails must not. Lowering needs no power.
  if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0) return errno;
  return 0;
}

int set_limits() {
  for (uint32_t i = 0; i < plan->resource_limit_count; i++) {
    const ResourceLimit& limit = plan->resource_limits[i];
    rlimit value{limit.soft, limit.hard};
    if (setrlimit(static_cast<__rlimit_resource>(limit.resource), &value) < 0) return errno;
  }
  return 0;
}

// Close-on-exec rather than closed: the control socket carries the reason if a later step fails.
int keep_only_the_guest_socket() {
  return outcome_of(syscall(SYS_close_range, kGuestFd + 1, ~0u, CLOSE_RANGE_CLOEXEC));
}

int drop_bounding_set() {
  for (cap_value_t cap = 0; cap <= cap_max_bits(); cap++) {
    if (cap_get_bound(cap) > 0 && cap_drop_bound(cap) < 0) return errno;
  }
  return 0;
}

int lock_securebits() {
  constexpr unsigned bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                            SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                            SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  return outcome_of(prctl(PR_SET_SECUREBITS, bits));
}

int become_runner() {
  if (plan->identity == Identity::shared) {
    // One host id: the runner moves to a namespace of its own in which that id is called 1000, so that
    // whatever it might regain there means nothing to the mounts, which belong to the outer namespace.
    // Its capabilities of the new namespace go with the next step.
    if (unshare(CLONE_NEWUSER) < 0) return errno;
    if (int e = write_file("/proc/self/setgroups", "deny")) return e;
    if (int e = write_file("/proc/self/uid_map", "1000 0 1")) return e;
    if (int e = write_file("/proc/self/gid_map", "1000 0 1")) return e;
    // unshare(CLONE_NEWUSER) gives a full bounding set and clears the securebits: once more.
    if (int e = drop_bounding_set()) return e;
    if (int e = lock_securebits()) return e;
  }
  if (setresgid(kRunnerId, kRunnerId, kRunnerId) < 0) return errno;
  return outcome_of(setresuid(kRunnerId, kRunnerId, kRunnerId));
}

int drop_capabilities() {
  cap_t none = cap_init();
  if (!none) return ENOMEM;
  int error = outcome_of(cap_set_proc(none));
  cap_free(none);
  return error;
}

int no_new_privileges() { return outcome_of(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }

int load_filter() {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(plan->filter_length);
  program.filter = const_cast<sock_filter*>(plan->filter);
  return outcome_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, plan->seccomp_flags, &program));
}

int exec_interpreter() {
  const char* arguments[kMaxArguments + 1]{};
  const char* environment[kMaxEnvironment + 1]{};
  for (uint32_t i = 0; i < plan->argument_count; i++) arguments[i] = plan->strings + plan->arguments[i];
  for (uint32_t i = 0; i < plan->environment_count; i++) environment[i] = plan->strings + plan->environment[i];
  execve(arguments[0], const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
  return errno;
}

struct Row {
  Step step;
  int (*run)();
};
constexpr Row kRows[] = {
    {Step::runner_session, start_session},
    {Step::runner_limits, set_limits},
    {Step::runner_descriptors, keep_only_the_guest_socket},
    {Step::runner_bounding_set, drop_bounding_set},
    {Step::runner_securebits, lock_securebits},
    {Step::runner_ids, become_runner},
    {Step::runner_capabilities, drop_capabilities},
    {Step::runner_no_new_privileges, no_new_privileges},
    {Step::runner_landlock, restrict_files},
    {Step::runner_seccomp, load_filter},  // last: the rest is filtered
    {Step::runner_exec, exec_interpreter},
};

}  // namespace

int fork_runner() {
  if (int error = detect_landlock()) return error;
  // SIGCHLD stays blocked in init, which takes it by signalfd; the runner unblocks its own.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child, nullptr) < 0) return errno;
  runner_pid = fork();
  if (runner_pid < 0) return errno;
  if (runner_pid > 0) return 0;
  for (const Row& row : kRows) {
    if (int error = row.run()) give_up(row.step, error);
  }
  give_up(Step::runner_exec, EINVAL);
}

}  // namespace jail::init
