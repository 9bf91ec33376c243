// What the instructions in front of a profile answer where no cgroup counts memory.
#include "policies/uncounted_memory.h"

#include <linux/audit.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>

#include "tests/catch.h"
#include "tests/policies/bpf_evaluator.h"

#if defined(__x86_64__)
namespace {

constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kMissing = SECCOMP_RET_ERRNO | ENOSYS;

uint32_t on_memory_call(long number, const Arguments& arguments = {}, uint32_t arch = AUDIT_ARCH_X86_64) {
  return answer_before_allow(policies::refuse_uncounted_memory(), number, arguments, arch);
}

uint32_t map(uint64_t flags) { return on_memory_call(SYS_mmap, {0, 4096, PROT_READ, flags, ~uint64_t{0}}); }

}  // namespace

TEST_CASE("memory that only a cgroup counts is refused", "[seccomp]") {
  CHECK(on_memory_call(SYS_memfd_create) == kMissing);
  CHECK(on_memory_call(SYS_shmget) == kMissing);
  CHECK(on_memory_call(SYS_semget) == kMissing);
  CHECK(map(MAP_SHARED | MAP_ANONYMOUS) == kDenied);
  CHECK(map(MAP_SHARED_VALIDATE | MAP_ANONYMOUS) == kDenied);
  CHECK(map(MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE | MAP_HUGETLB) == kDenied);
  CHECK(map(kHigh | MAP_SHARED | MAP_ANONYMOUS) == kDenied);
}

TEST_CASE("memory of a process, and memory of a file, is the profile's matter", "[seccomp]") {
  CHECK(map(MAP_PRIVATE | MAP_ANONYMOUS) == kAllow);
  CHECK(map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE) == kAllow);
  CHECK(map(MAP_PRIVATE) == kAllow);
  CHECK(map(MAP_SHARED) == kAllow);
  for (long number : std::initializer_list<long>{0, 1, SYS_munmap, SYS_shmat, SYS_shmctl, SYS_clone, 100000, -1})
    CHECK(on_memory_call(number) == kAllow);
}

TEST_CASE("sizes of sockets' buffers are not changed, and nobody is told", "[seccomp]") {
  constexpr uint32_t kIgnored = SECCOMP_RET_ERRNO;
  for (uint64_t option : {SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE})
    CHECK(on_memory_call(SYS_setsockopt, {3, kHigh | SOL_SOCKET, kHigh | option}) == kIgnored);
  CHECK(on_memory_call(SYS_setsockopt, {3, SOL_SOCKET, SO_REUSEADDR}) == kAllow);
  CHECK(on_memory_call(SYS_setsockopt, {3, IPPROTO_TCP, SO_SNDBUF}) == kAllow);
  CHECK(on_memory_call(SYS_getsockopt, {3, SOL_SOCKET, SO_SNDBUF}) == kAllow);
}

TEST_CASE("calls of another architecture are the profile's matter, too", "[seccomp]") {
  for (long number : std::initializer_list<long>{SYS_memfd_create, SYS_shmget, SYS_mmap})
    CHECK(on_memory_call(number, {0, 0, 0, MAP_SHARED | MAP_ANONYMOUS}, AUDIT_ARCH_I386) == kAllow);
  CHECK(on_memory_call(0x40000000 | SYS_memfd_create) == kAllow);  // x32
}
#endif
