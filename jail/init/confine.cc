// Confinement of a runner, step by step. Each step gives up a privilege that a later step does not need. A failing step
// reports its name.
#include "jail/init/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstring>

#include "jail/init/capabilities.h"
#include "jail/init/fixed_filter.h"
#include "jail/slice.h"

namespace jail::init {

const Plan* plan = nullptr;
InitReport report{};

void give_up(Step step, int error) {
  report.event = InitEvent::failed;
  report.step = step;
  report.error = error;
  (void)!::write(kControlFd, &report, sizeof report);
  ::_exit(127);
}

int drop_bounding_set() { return limit_bounding_set(0); }

namespace {

// As a fresh program expects.
void use_default_signals() {
  struct sigaction normal {};
  normal.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; s++) sigaction(s, &normal, nullptr);
}

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
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) < 0) return errno;
  umask(022);
  // A service may run with a raised priority; its jails must not. Lowering the priority needs no capability.
  if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0) return errno;
  return 0;
}

// A service manager may pass on ignored signals (systemd ignores SIGPIPE); jailed programs expect the defaults.
int start_runner_session() {
  use_default_signals();
  return start_session();
}

// A running interpreter has already set its signal handlers. Only the zygote's own setting of SIGCHLD is undone.
int start_session_of_fork() {
  if (signal(SIGCHLD, SIG_DFL) == SIG_ERR) return errno;
  return start_session();
}

int set_limits() {
  set_slice(kUsualSlice);
  for (uint32_t i = 0; i < plan->resource_limit_count; i++) {
    const ResourceLimit& limit = plan->resource_limits[i];
    rlimit value{limit.soft, limit.hard};
    if (setrlimit(static_cast<__rlimit_resource>(limit.resource), &value) < 0) return errno;
  }
  return 0;
}

// The descriptors are marked close-on-exec, not closed: the control socket reports a later step that fails.
int keep_only_the_guest_socket() {
  return outcome_of(syscall(SYS_close_range, kGuestFd + 1, ~0u, CLOSE_RANGE_CLOEXEC));
}

// Closes all descriptors of the zygote but the control socket, which reports a later step that fails.
int close_the_zygotes() { return outcome_of(syscall(SYS_close_range, kControlFd + 1, ~0u, 0)); }

int forget_control() { return outcome_of(close(kControlFd)); }

// Writing the id maps of children needs these three (user_namespaces(7)). They count only in the zygote's own
// namespace.
constexpr uint64_t kZygoteKeeps = bit_of(CAP_SETUID) | bit_of(CAP_SETGID) | bit_of(CAP_SETFCAP);

int keep_what_maps_ids() {
  if (int error = limit_bounding_set(kZygoteKeeps)) return error;
  return set_capabilities(kZygoteKeeps);
}

int lock_securebits() {
  constexpr unsigned bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                            SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                            SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  return outcome_of(prctl(PR_SET_SECUREBITS, bits));
}

int become_runner() {
  if (plan->identity == Identity::shared) {
    // One host id. The runner moves to a nested user namespace, in which that id is 1000. Capabilities that it might
    // regain there mean nothing to the mounts, which belong to the outer namespace. The next step drops its
    // capabilities of the nested namespace.
    if (unshare(CLONE_NEWUSER) < 0) return errno;
    if (int e = write_file("/proc/self/setgroups", "deny")) return e;
    if (int e = write_file("/proc/self/uid_map", "1000 0 1")) return e;
    if (int e = write_file("/proc/self/gid_map", "1000 0 1")) return e;
    // unshare(CLONE_NEWUSER) gives a full bounding set and clears the securebits: both are set again.
    if (int e = drop_bounding_set()) return e;
    if (int e = lock_securebits()) return e;
  }
  if (setresgid(kRunnerId, kRunnerId, kRunnerId) < 0) return errno;
  return outcome_of(setresuid(kRunnerId, kRunnerId, kRunnerId));
}

int drop_capabilities() { return set_capabilities(0); }

// After a change of ids the kernel makes a process non-dumpable: its own /proc files then belong to root. An exec()
// would undo this, but a forked runner does not exec (prctl(2), PR_SET_DUMPABLE).
int be_like_exec() { return outcome_of(prctl(PR_SET_DUMPABLE, 1)); }

int no_new_privileges() { return outcome_of(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }

int load_filter() {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(plan->filter_length);
  program.filter = const_cast<sock_filter*>(plan->filter);
  return outcome_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, plan->seccomp_flags, &program));
}

// Beside all else, a zygote and its copies can make no ring of io_uring(7). libuv (from 1.49, in node 22) maps one for
// each event loop, and copies of a zygote would share that memory. Without rings libuv uses epoll alone.
int load_home_filter() { return load_filter_for_home(plan->identity == Identity::shared); }

struct Row {
  Step step;
  int (*run)();
};

template <int kCount>
void walk(const Row (&rows)[kCount]) {
  for (const Row& row : rows) {
    if (int error = row.run()) give_up(row.step, error);
  }
}

constexpr Row kBeginExec[] = {
    {Step::runner_session, start_runner_session},
    {Step::runner_descriptors, keep_only_the_guest_socket},
};
constexpr Row kBeginFork[] = {
    {Step::runner_session, start_session_of_fork},
    {Step::runner_descriptors, close_the_zygotes},
};
constexpr Row kStrip[] = {
    {Step::runner_limits, set_limits},
    {Step::runner_bounding_set, drop_bounding_set},
    {Step::runner_securebits, lock_securebits},
    {Step::runner_ids, become_runner},
    {Step::runner_capabilities, drop_capabilities},
};
constexpr Row kShowFork[] = {
    {Step::runner_ids, be_like_exec},
};
// The filters are the last steps: they forbid the system calls that earlier steps make. A fork has inherited the fixed
// one of its zygote's home.
constexpr Row kLock[] = {
    {Step::runner_no_new_privileges, no_new_privileges},
    {Step::runner_landlock, restrict_files},
};
constexpr Row kFixedFilter[] = {
    {Step::runner_seccomp, load_filter_for_code},
};
constexpr Row kPlanFilter[] = {
    {Step::runner_seccomp, load_filter},
};
constexpr Row kEndFork[] = {
    {Step::runner_descriptors, forget_control},
};
constexpr Row kZygote[] = {
    {Step::runner_session, start_runner_session},    {Step::runner_descriptors, keep_only_the_guest_socket},
    {Step::runner_capabilities, keep_what_maps_ids}, {Step::runner_no_new_privileges, no_new_privileges},
    {Step::runner_seccomp, load_home_filter},
};

}  // namespace

void confine_exec() {
  walk(kBeginExec);
  walk(kStrip);
  walk(kLock);
  walk(kFixedFilter);
  walk(kPlanFilter);
}

void confine_fork() {
  walk(kBeginFork);
  walk(kStrip);
  walk(kShowFork);
  walk(kLock);
  walk(kPlanFilter);
  walk(kEndFork);
}

void prepare_zygote() { walk(kZygote); }

}  // namespace jail::init
