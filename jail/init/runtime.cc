// The start of warder-jail-init and the C functions that it calls, without the C library. The start of glibc asks the
// processor for its features, and in a virtual machine each of these questions (cpuid) is answered by the host: 0.15
// ms, more than init's other work. Only for x86-64; elsewhere warder-jail-init is linked with the C library. The types
// are those of the C library's headers. Source: syscall(2), the kernel's arch/x86/entry/syscalls/syscall_64.tbl, System
// V ABI (x86-64), 3.4.1 (the stack at a program's start).
#include <asm/prctl.h>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <linux/auxvec.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/init/steps.h"

namespace {

constexpr size_t kSignalMaskBytes = 8;  // the kernel's signal set

// The register FS points to it. The compiler finds the canary of the stack protector at offset 40.
struct ThreadBlock {
  uint64_t unused[5];
  uint64_t canary;
} thread_block;
static_assert(offsetof(ThreadBlock, canary) == 40);

int last_error = 0;

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

long checked(long result) {
  if (result >= 0 || result < -4095) return result;
  last_error = static_cast<int>(-result);
  return -1;
}

template <class T>
long word(T value) {
  return static_cast<long>(value);
}
template <class T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}
long word(std::nullptr_t) { return 0; }

template <class... Args>
int run(long number, Args... args) {
  return static_cast<int>(checked(call(number, word(args)...)));
}

struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

}  // namespace

extern "C" {

[[noreturn, gnu::no_stack_protector, gnu::used]] void warder_start(const long* stack) {
  const long* at = stack + 1 + *stack + 1;  // argc, argv, null
  while (*at) at++;                         // environment
  for (at++; at[0] != AT_NULL; at += 2)
    if (at[0] == AT_RANDOM)
      __builtin_memcpy(&thread_block.canary, reinterpret_cast<const void*>(at[1]), sizeof(uint64_t));
  thread_block.canary &= ~uint64_t{0xff};  // a string function that overflows stops at the zero byte
  call(SYS_arch_prctl, ARCH_SET_FS, word(&thread_block));
  jail::init::run();
}
asm(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call warder_start\n hlt");

[[noreturn]] void __stack_chk_fail() { _exit(127); }
int* __errno_location() { return &last_error; }

void* memcpy(void* to, const void* from, size_t count) {
  void* result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  return result;
}
void* memset(void* to, int value, size_t count) {
  void* result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
  return result;
}
size_t strlen(const char* text) {
  size_t length = 0;
  while (text[length]) length++;
  return length;
}
int strcmp(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

[[noreturn]] void _exit(int status) {
  for (;;) call(SYS_exit_group, status);
}
long syscall(long number, ...) {
  long args[6];
  va_list list;
  va_start(list, number);
  for (long& arg : args) arg = va_arg(list, long);
  va_end(list);
  return checked(call(number, args[0], args[1], args[2], args[3], args[4], args[5]));
}
int prctl(int option, ...) {
  long args[4];
  va_list list;
  va_start(list, option);
  for (long& arg : args) arg = va_arg(list, long);
  va_end(list);
  return run(SYS_prctl, option, args[0], args[1], args[2], args[3]);
}
int open(const char* path, int flags, ...) {  // never creates a file
  return run(SYS_openat, AT_FDCWD, path, flags, 0);
}
int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  const long argument = va_arg(list, long);
  va_end(list);
  return run(SYS_ioctl, fd, request, argument);
}
int close(int fd) { return run(SYS_close, fd); }
ssize_t read(int fd, void* data, size_t size) { return checked(call(SYS_read, fd, word(data), word(size))); }
ssize_t write(int fd, const void* data, size_t size) { return checked(call(SYS_write, fd, word(data), word(size))); }
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  return reinterpret_cast<void*>(checked(call(SYS_mmap, word(at), word(size), protection, flags, fd, offset)));
}
int fstat(int fd, struct stat* info) noexcept { return run(SYS_fstat, fd, info); }
ssize_t readlinkat(int folder, const char* path, char* text, size_t size) noexcept {
  return checked(call(SYS_readlinkat, folder, word(path), word(text), word(size)));
}
int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* options) noexcept {
  return run(SYS_mount, source, target, type, flags, options);
}
int umount2(const char* target, int flags) noexcept { return run(SYS_umount2, target, flags); }
int unshare(int flags) noexcept { return run(SYS_unshare, flags); }
int chdir(const char* path) noexcept { return run(SYS_chdir, path); }
int sethostname(const char* name, size_t size) noexcept { return run(SYS_sethostname, name, size); }
int setdomainname(const char* name, size_t size) noexcept { return run(SYS_setdomainname, name, size); }
int socket(int domain, int type, int protocol) noexcept { return run(SYS_socket, domain, type, protocol); }
int bind(int fd, const sockaddr* name, socklen_t size) noexcept { return run(SYS_bind, fd, name, size); }
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return checked(call(SYS_sendmsg, fd, word(message), flags));
}
int poll(pollfd* list, nfds_t count, int milliseconds) { return run(SYS_poll, list, count, milliseconds); }
int clock_gettime(clockid_t clock, timespec* time) noexcept { return run(SYS_clock_gettime, clock, time); }

pid_t fork() noexcept { return run(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  return run(SYS_execve, path, arguments, environment);
}
pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  return run(SYS_wait4, pid, status, options, usage);
}
pid_t waitpid(pid_t pid, int* status, int options) { return wait4(pid, status, options, nullptr); }
int getrusage(__rusage_who_t scope, rusage* usage) noexcept {
  return run(SYS_getrusage, static_cast<int>(scope), usage);
}
int setrlimit(__rlimit_resource_t resource, const rlimit* value) noexcept {
  return run(SYS_prlimit64, 0, static_cast<int>(resource), value, nullptr);
}
int getpriority(__priority_which_t which, id_t scope) noexcept {
  const int value = run(SYS_getpriority, static_cast<int>(which), scope);
  return value < 0 ? value : 20 - value;
}
int setpriority(__priority_which_t which, id_t scope, int priority) noexcept {
  return run(SYS_setpriority, static_cast<int>(which), scope, priority);
}
pid_t setsid() noexcept { return run(SYS_setsid); }
int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept { return run(SYS_setresuid, real, effective, saved); }
int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept { return run(SYS_setresgid, real, effective, saved); }
mode_t umask(mode_t mask) noexcept { return static_cast<mode_t>(run(SYS_umask, mask)); }

int sigaction(int signal, const struct sigaction* action, struct sigaction*) noexcept {  // SIG_DFL and SIG_IGN only
  const KernelAction kernel{action->sa_handler, 0, nullptr, 0};
  return run(SYS_rt_sigaction, signal, &kernel, nullptr, kSignalMaskBytes);
}
sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;
  return sigaction(number, &action, nullptr) < 0 ? SIG_ERR : SIG_DFL;
}
int sigemptyset(sigset_t* set) noexcept {
  *set = {};
  return 0;
}
int sigaddset(sigset_t* set, int signal) noexcept {
  set->__val[0] |= 1UL << (signal - 1);
  return 0;
}
int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return run(SYS_rt_sigprocmask, how, set, before, kSignalMaskBytes);
}
int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  return run(SYS_signalfd4, fd, set, kSignalMaskBytes, flags);
}

}  // extern "C"
