#include "policies/uncounted_memory.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace policies {

std::vector<sock_filter> refuse_uncounted_memory() {
  // MAP_SHARED_VALIDATE has the bit of MAP_SHARED; MAP_PRIVATE has not.
  constexpr uint32_t kShared = MAP_SHARED | MAP_ANONYMOUS;
  return {
      // The profile ends processes of other architectures.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 9),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[3])),  // flags: the low half on little-endian
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kShared),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kShared, 0, 2),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
}

}  // namespace policies
