#include "policies/uncounted_memory.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace policies {

std::vector<sock_filter> refuse_uncounted_memory() {
  // MAP_SHARED_VALIDATE includes the bit of MAP_SHARED; MAP_PRIVATE does not.
  constexpr uint32_t kShared = MAP_SHARED | MAP_ANONYMOUS;
  const auto argument = [](unsigned number) {  // the low half on little-endian: the kernel reads an int
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + number * sizeof(uint64_t));
  };
  return {
      // The profile ends processes of other architectures.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 19),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 16, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 15, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_semget, 14, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kShared),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kShared, 0, 11),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 9),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_SNDBUF, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_RCVBUF, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_SNDBUFFORCE, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_RCVBUFFORCE, 0, 2),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
}

}  // namespace policies
