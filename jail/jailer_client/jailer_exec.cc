#include "jail/jailer_client/jailer_exec.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "jail/jailer_message.h"

namespace jail {
namespace {

constexpr int kFirstFreeFd = 64;  // above kJailerSocketFd

int keep_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  if (::syscall(SYS_capget, &header, data) < 0) return errno;
  for (auto& word : data) word.inheritable = word.permitted;
  if (::syscall(SYS_capset, &header, data) < 0) return errno;
  for (unsigned capability = 0; capability < 64; capability++) {
    const bool is_held = data[capability / 32].permitted & (1u << capability % 32);
    if (is_held && ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) < 0) return errno;
  }
  return 0;
}

// Returns only if a call fails.
int become_jailer(const JailerExec& jailer_exec) {
  const int program = ::fcntl(jailer_exec.program, F_DUPFD_CLOEXEC, kFirstFreeFd);
  const int socket = ::fcntl(jailer_exec.socket, F_DUPFD_CLOEXEC, kFirstFreeFd);
  if (program < 0 || socket < 0 || ::dup2(socket, kJailerSocketFd) < 0) return errno;
  if (::syscall(SYS_close_range, kJailerSocketFd + 1, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0) return errno;
  if (jailer_exec.keeps_capabilities) {
    if (const int error = keep_capabilities()) return error;
  }
  char name[] = "warder-jailer";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  ::syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
  return errno;
}

int run_child(void* argument) {
  auto* requested = static_cast<JailerExec*>(argument);
  requested->error = become_jailer(*requested);
  ::_exit(127);
}

}  // namespace

int exec_jailer(JailerExec jailer_exec, void* stack) {
  jailer_exec.error = 0;
  const int child =
      ::clone(run_child, static_cast<char*>(stack) + kJailerStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &jailer_exec);
  if (child < 0) return errno;
  if (jailer_exec.error != 0) ::syscall(SYS_wait4, child, nullptr, 0, nullptr);
  return jailer_exec.error;
}

}  // namespace jail
