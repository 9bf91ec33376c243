// The Node addon _warder_fork. serve(ready) answers fork orders, and returns once in each new runner. isWanted() says
// if an execution waits for that runner. end(status) ends the runner. It uses Node-API, so one build serves every node
// from 18 on.
//
// V8 can be forked in its single-threaded mode only. Even then node has three threads, which do almost no work. So the
// zygote itself is a fork, made while these threads are idle and hold no lock. Its parent waits for it with no
// descriptor open. The one thread that copies need is made again when it is needed (threads.h).
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/plan.h"
#include "jail/zygote/descriptors.h"
#include "jail/zygote/fork.h"
#include "jail/zygote/node_api.h"
#include "jail/zygote/threads.h"

namespace {

constexpr int kIdleTries = 2000;  // one millisecond each: under emulation a thread may need long to become idle
constexpr size_t kMaxReady = 4096;

uv_loop_s* loop = nullptr;
jmp_buf script;
bool wanted = false;  // an execution waits for this copy

[[noreturn]] void give_up(const char* kind, int error) {
  dprintf(STDERR_FILENO, "warder javascript zygote: %s: %s\n", kind, strerror(error));
  ::_exit(126);
}

// True if the thread waits for work: in futex(2), or in one of the epoll calls that the C library uses.
bool is_idle(const char* thread) {
  char path[48], text[16]{};
  snprintf(path, sizeof path, "/proc/self/task/%.12s/syscall", thread);
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;  // the thread has ended
  ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n <= 0) return false;
  char* end = nullptr;
  long call = strtol(text, &end, 10);  // "running" is not a number
  return end != text && (call == SYS_futex || call == SYS_epoll_wait || call == SYS_epoll_pwait);
}

// The number of other threads; `idle` gets the number of those that wait.
int other_threads(int& idle) {
  DIR* tasks = ::opendir("/proc/self/task");
  if (!tasks) return -1;
  int rest = 0;
  idle = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(tasks);
    if (!entry && errno != 0) rest = -1;
    if (!entry) break;
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == ::gettid()) continue;
    rest++;
    idle += is_idle(entry->d_name);
  }
  ::closedir(tasks);
  return rest;
}

bool wait_for_idle_threads() {
  for (int i = 0; i < kIdleTries; i++) {
    int idle = 0, peers = other_threads(idle);
    if (peers < 0) return false;
    if (peers == idle) return true;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

// V8 asks the kernel not to copy its heap in a fork (MADV_DONTFORK); this undoes it, because copies need the heap.
// Writable shared memory would be a channel between copies, and is an error. Returns nullptr, or the error. Source:
// proc_pid_smaps(5).
const char* share_memory() {
  FILE* maps = ::fopen("/proc/self/smaps", "re");
  if (!maps) return "cannot read its own smaps";
  const char* wrong = nullptr;
  unsigned long low = 0, high = 0, from, to;
  char rights[8]{}, line[512];
  while (!wrong && ::fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s ", &from, &to, rights) == 3) {
      low = from, high = to;
      if (rights[1] == 'w' && rights[3] == 's') wrong = "has memory that its copies would share";
    } else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dc") && !strstr(line, " io")) {
      if (::madvise(reinterpret_cast<void*>(low), high - low, MADV_DOFORK) < 0) wrong = "cannot fork V8's heap";
    }
  }
  if (!wrong && ::ferror(maps)) wrong = "cannot read all of its own smaps";
  ::fclose(maps);
  return wrong;
}

// Continues in a copy of this process, which has one thread.
void be_single() {
  pid_t pid = ::fork();
  if (pid == 0) return;
  if (pid < 0) give_up("fork", errno);
  (void)::syscall(SYS_close_range, 0u, ~0u, 0u);  // no open pipe may hide the copy's end
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

void nothing() {}

// Called in a confined runner, deep below the script's call of serve(). It jumps back to that call, so that the script
// ends and the event loop begins, as in any node.
void return_to_script(bool is_wanted) {
  wanted = is_wanted;
  jail::zygote::threads_are_lost();
  if (int error = jail::zygote::make_descriptors()) give_up("make descriptors", error);
  if (int error = uv_loop_fork(loop)) give_up("uv_loop_fork", -error);
  longjmp(script, 1);
}

// 53 random bits: the most that a JavaScript number holds exactly.
napi_value random_number(napi_env env) {
  uint64_t bits = 0;
  napi_value value = nullptr;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) give_up("getrandom", errno);
  return napi_create_double(env, static_cast<double>(bits >> 11), &value) == napi_ok ? value : nullptr;
}

napi_value refuse(napi_env env, const char* why) {
  napi_throw_error(env, nullptr, why);
  return nullptr;
}

// serve(ready): `ready` is the message to send when the zygote can be forked. The result, in a copy, is a random
// number.
napi_value serve(napi_env env, napi_callback_info info) {
  static char ready[kMaxReady];
  static size_t length;
  napi_value text = nullptr;
  size_t value = 1;
  ready[0] = 'F';
  if (napi_get_cb_info(env, info, &value, &text, nullptr, nullptr) != napi_ok || value != 1 ||
      napi_get_value_string_utf8(env, text, ready + 1, sizeof ready - 1, &length) != napi_ok)
    return refuse(env, "serve() takes the message to say");
  if (napi_get_uv_event_loop(env, &loop) != napi_ok || !loop) return refuse(env, "there is no event loop");
  if (!wait_for_idle_threads()) return refuse(env, "its own threads still run");
  if (const char* wrong = share_memory()) return refuse(env, wrong);
  be_single();
  int idle = 0;
  if (other_threads(idle) != 0) give_up("it has another thread", EBUSY);
  if (int error = jail::zygote::note_descriptors()) give_up("note descriptors", error);
  if (setjmp(script) == 0) {
    if (::write(jail::kGuestFd, ready, length + 1) != static_cast<ssize_t>(length + 1)) ::_exit(126);
    jail::zygote::serve({nothing, nothing, return_to_script});
    ::_exit(0);
  }
  return random_number(env);
}

// isWanted(): true if an execution waits for this copy, which then skips its warm-up.
napi_value is_wanted(napi_env env, napi_callback_info) {
  napi_value value = nullptr;
  return napi_get_boolean(env, wanted, &value) == napi_ok ? value : nullptr;
}

// end(status): exits at once. Node's own exit would wait for threads that a copy does not have.
napi_value end(napi_env env, napi_callback_info info) {
  napi_value number = nullptr;
  size_t value = 1;
  int32_t status = 1;
  if (napi_get_cb_info(env, info, &value, &number, nullptr, nullptr) == napi_ok && value == 1)
    (void)napi_get_value_int32(env, number, &status);
  ::_exit(status);
}

}  // namespace

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  const struct {
    const char* name;
    napi_callback call;
  } functions[] = {{"serve", serve}, {"isWanted", is_wanted}, {"end", end}};
  for (const auto& it : functions) {
    napi_value function = nullptr;
    if (napi_create_function(env, it.name, strlen(it.name), it.call, nullptr, &function) != napi_ok ||
        napi_set_named_property(env, exports, it.name, function) != napi_ok)
      return nullptr;
  }
  return exports;
}
