// The runner: init forks it, it confines itself, then it execs the interpreter. The runner of a zygote's jail exists
// already and waits for its root.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace jail::init {
namespace {

int exec_interpreter() {
  const char* arguments[kMaxArguments + 1]{};
  const char* environment[kMaxEnvironment + 1]{};
  for (uint32_t i = 0; i < plan->argument_count; i++) arguments[i] = plan->strings + plan->arguments[i];
  for (uint32_t i = 0; i < plan->environment_count; i++) environment[i] = plan->strings + plan->environment[i];
  execve(arguments[0], const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
  return errno;
}

// Libraries detect a fork by a changed process id. Every forked runner has the pid kForkedRunner, so the zygote must
// not have it.
int use_up_a_pid() {
  int pid = fork();
  if (pid == 0) _exit(0);
  return pid < 0 ? errno : outcome_of(waitpid(pid, nullptr, 0));
}

}  // namespace

int fork_runner() {
  if (int error = detect_landlock()) return error;
  // SIGCHLD stays blocked in init, which reads it by signalfd; the runner unblocks its own.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child, nullptr) < 0) return errno;
  if (plan->role == Role::forked) {
    runner_pid = kForkedRunner;
    if (write(kStartFd, "g", 1) != 1) return errno;
    return outcome_of(close(kStartFd));
  }
  if (plan->role == Role::zygote) {
    if (int error = use_up_a_pid()) return error;
  }
  runner_pid = fork();
  if (runner_pid < 0) return errno;
  if (runner_pid > 0) return 0;
  if (plan->role == Role::zygote) {
    prepare_zygote();
  } else {
    confine_exec();
  }
  give_up(Step::runner_exec, exec_interpreter());
}

}  // namespace jail::init
