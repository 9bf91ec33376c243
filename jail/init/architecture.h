// The name of this machine's system calls, as seccomp(2) reports it with each call. Source: linux/audit.h. Used by: the
// filters of jail/init/.
#pragma once
#include <linux/audit.h>

#include <cstdint>

namespace jail::init {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "init's filters do not know this machine's AUDIT_ARCH"
#endif

}  // namespace jail::init
