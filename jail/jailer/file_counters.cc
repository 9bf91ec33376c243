#include "jail/jailer/file_counters.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "jail/fd_message.h"
#include "jail/jailer/file_count.h"
#include "jail/orders.h"
#include "jail/pidfd.h"

namespace jail {
namespace {

constexpr rlim_t kMaxSeconds = 5;  // of processor time, should the bounds of count_held_files() fail
constexpr int kNice = 5;           // the jailer and the daemon come first

[[noreturn]] void count_and_answer(int init_pid, int socket, uint64_t token) {
  const rlimit max{kMaxSeconds, kMaxSeconds};
  setrlimit(RLIMIT_CPU, &max);
  setpriority(PRIO_PROCESS, 0, kNice);
  JailerAnswer answer{token, 0, Step::none, 0};
  if (const auto device = workspace_device(init_pid)) {
    const HeldFiles files = count_held_files(init_pid, *device);
    answer.held_bytes = files.bytes;
    answer.held_files = files.files;
    answer.written_bytes = files.written;
    answer.is_partial = files.is_partial;
    answer.is_denied = files.is_denied;
  } else {
    answer.error = errno == 0 ? EIO : errno;
  }
  static_cast<void>(send_message(socket, &answer, sizeof answer, {}));
  _exit(0);
}

}  // namespace

int FileCounters::start(int init_pid, int socket, uint64_t token) {
  const auto free = std::find_if(children_.begin(), children_.end(),
                                 [](const Fd& child) { return !child || !is_alive(child.get()); });
  if (free == children_.end()) return EAGAIN;
  const pid_t jailer = getpid();
  int pidfd = -1;
  // The jailer has one thread, so the child may go on with its copy of the memory as after fork(2).
  const long child = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr);
  if (child < 0) return errno;
  if (child == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != jailer) _exit(1);
    count_and_answer(init_pid, socket, token);
  }
  *free = Fd(pidfd);
  return 0;
}

}  // namespace jail
