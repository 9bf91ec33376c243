#include "jail/zygote/fork.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/init/capabilities.h"
#include "jail/init/steps.h"
#include "jail/orders.h"
#include "jail/spawn.h"
#include "jail/zygote/pages.h"

namespace jail::zygote {
namespace {

constexpr int kOrderFd = kGuestFd;
constexpr int kOrderFds = 6;  // plan, guest, control, stdout, stderr, the pipe that lets the child continue

const Interpreter* interpreter_;
int null_device = -1;
int init_program = -1;  // warder-jail-init
jmp_buf zygote_stack;
int runner_start = -1;  // the runner continues when a byte arrives here
alignas(16) char stack_of_process_1[kSharingStackBytes];
bool wanted = false, crowded = false;  // of the fork in progress

struct Incoming {
  Order order;
  int fds[kMaxOrderFds];
  int count = 0;

  ~Incoming() {
    for (int i = 0; i < count; i++) ::close(fds[i]);
  }
};

// False when the daemon is gone, or sent no order.
bool receive(Incoming& in) {
  iovec part{&in.order, sizeof in.order};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxOrderFds)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do n = ::recvmsg(kOrderFd, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int count = static_cast<int>((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < count && in.count < kMaxOrderFds; i++)
      memcpy(&in.fds[in.count++], CMSG_DATA(c) + sizeof(int) * static_cast<size_t>(i), sizeof(int));
  }
  return n == static_cast<ssize_t>(sizeof in.order) && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

bool answer(JailerAnswer reply, int pidfd) {
  iovec part{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (pidfd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &pidfd, sizeof(int));
  }
  return ::sendmsg(kOrderFd, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof reply);
}

int write_map(int pid, const char* name, const char* text) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  auto length = static_cast<ssize_t>(strlen(text));
  int error = ::write(fd, text, static_cast<size_t>(length)) == length ? 0 : errno;
  ::close(fd);
  return error;
}

// Maps the ids of the zygote's own namespace to the same numbers; it has no others.
int map_ids(int pid, Identity identity) {
  const char* map = identity == Identity::shared ? "0 0 1\n" : "0 0 1\n1000 1000 1\n";
  if (int error = write_map(pid, "setgroups", "deny")) return error;
  if (int error = write_map(pid, "uid_map", map)) return error;
  return write_map(pid, "gid_map", map);
}

[[noreturn]] void become_runner() {
  if (!crowded) touch_pages();  // while init builds the root, on another processor
  char go = 0;
  if (::read(runner_start, &go, 1) != 1) ::_exit(127);  // init could not build the rest
  // Init has replaced the root. Only the working directory still refers to the old root.
  if (::chdir("/") < 0) init::give_up(Step::runner_session, errno);
  init::confine_fork();
  ::munmap(const_cast<Plan*>(init::plan), sizeof(Plan));
  interpreter_->child(wanted);
  ::_exit(126);
}

// Runs as process 1 in the new namespaces, with the descriptors of a jail's init in place, in the zygote's memory: the
// zygote waits meanwhile. Forks the runner, so that only the runner copies that memory. Then warder-jail-init, which
// needs little memory, builds the jail around it (Role::forked).
void fork_runner() {
  init::take(Step::read_plan, init::read_plan);
  if (init::plan->role != Role::forked) init::give_up(Step::read_plan, EINVAL);
  if (::signal(SIGCHLD, SIG_DFL) == SIG_ERR)
    init::give_up(Step::fork_runner, errno);  // else the kernel drops the exit status
  // For the exec, because the bounding set is empty by then.
  if (int error = init::make_capabilities_inheritable()) init::give_up(Step::runner_bounding_set, error);
  init::take(Step::runner_bounding_set, init::drop_bounding_set);  // once for both: each call makes new credentials
  if (::unshare(CLONE_NEWCGROUP) < 0) init::give_up(Step::cgroup_namespace, errno);
  if (int error = init::detect_landlock()) init::give_up(Step::fork_runner, error);
  int start[2];
  if (::pipe2(start, O_CLOEXEC) < 0) init::give_up(Step::fork_runner, errno);
  // fork(2) of the C library, so that its cached process data are right in the runner.
  pid_t pid = ::fork();
  if (pid < 0) init::give_up(Step::fork_runner, errno);
  if (pid == 0) {
    ::close(start[1]);
    runner_start = start[0];
    longjmp(zygote_stack, 1);
  }
  if (::dup2(start[1], kStartFd) < 0) init::give_up(Step::fork_runner, errno);
  ::munmap(const_cast<Plan*>(init::plan), sizeof(Plan));
  ::signal(SIGPIPE, SIG_DFL);
}

JailerAnswer fork_jail(const Incoming& in, int& pidfd) {
  JailerAnswer reply{in.order.token, EINVAL, Step::none, 0};
  if (in.order.type != OrderType::fork || in.count != kOrderFds) return reply;
  static SpawnPlan plan;
  plan = {};
  plan.init = init_program;
  plan.null = null_device;
  plan.plan = in.fds[0];
  plan.guest = in.fds[1];
  plan.control = in.fds[2];
  plan.out = in.fds[3];
  plan.err = in.fds[4];
  plan.cgroup = -1;
  plan.go_read = in.fds[5];
  plan.go_write = -1;
  plan.before_exec = fork_runner;
  plan.stack = stack_of_process_1;
  wanted = in.order.wanted != 0;
  crowded = in.order.crowded != 0;
  reply.step = Step::wait_for_ids;
  Spawned spawned{};
  reply.error = spawn_jail(plan, spawned);
  if (reply.error) return reply;
  pidfd = spawned.pidfd;
  // On a failure the child waits on its pipe, and ends when the daemon closes the pipe.
  reply.error = map_ids(spawned.pid, in.order.identity);
  if (!reply.error) reply.step = Step::none;
  return reply;
}

// The first malloc() of a size moves up to seven free chunks of that size into the thread's cache. They are in
// different pages: each copy would have to copy seven pages. So it is done here, once for all copies. Source:
// malloc/malloc.c of glibc 2.36.
void fill_malloc_cache() {
  constexpr size_t kSmallest = 24, kLargest = 1032, kStep = 16;
  for (size_t size = kSmallest; size <= kLargest; size += kStep) {
    void* chunks[7];
    for (void*& chunk : chunks) chunk = ::malloc(size);
    asm volatile("" : : "g"(chunks) : "memory");  // else the compiler removes the calls
    for (void* chunk : chunks) ::free(chunk);
  }
}

}  // namespace

void serve(const Interpreter& interpreter) {
  interpreter_ = &interpreter;
  fill_malloc_cache();
  if (interpreter.learns) {
    interpreter.before();
    learn_pages([] { interpreter_->child(true); });
    interpreter.parent();
  }
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps; init and the daemon exchange the exit status
  ::signal(SIGPIPE, SIG_IGN);
  null_device = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  init_program = ::open("warder-jail-init", O_PATH | O_NOFOLLOW | O_CLOEXEC);  // the template is the working directory
  if (null_device < 0 || init_program < 0) return;
  // A runner comes here from the small stack of process 1. This function's frame exists as long as the zygote serves.
  if (setjmp(zygote_stack) != 0) become_runner();
  for (;;) {
    Incoming in{};
    if (!receive(in)) return;
    int pidfd = -1;
    interpreter.before();
    JailerAnswer reply = fork_jail(in, pidfd);
    bool received = answer(reply, pidfd);
    wait_for_exec();  // by then the runner has been forked
    interpreter.parent();
    if (pidfd >= 0) ::close(pidfd);
    if (!received) return;
  }
}

}  // namespace jail::zygote
