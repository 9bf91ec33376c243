#include "supervisor/privileges.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "supervisor/base/fd.h"

namespace {

Result<> write_file(const char* path, const std::string& text) {
  Fd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, fmt::format("write {}", path), Code::unavailable);
  return {};
}

}  // namespace

Result<> enter_own_namespaces(const DaemonIdentity& identity) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
    auto error = fail_errno(errno, "make a user namespace", Code::unavailable);
    error.value().hint =
        "an ordinary user needs unprivileged user namespaces: kernel.unprivileged_userns_clone=1 (Debian), "
        "kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile with userns (Ubuntu), "
        "user.max_user_namespaces above 0; or run warderd as root";
    return error;
  }
  CHECKED(write_file("/proc/self/setgroups", "deny"));
  CHECKED(write_file("/proc/self/uid_map", fmt::format("{0} {0} 1\n", identity.uid)));
  CHECKED(write_file("/proc/self/gid_map", fmt::format("{0} {0} 1\n", identity.gid)));
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0)
    return fail_errno(errno, "make mounts slaves", Code::unavailable);
  return {};
}

Result<> restrict_netlink(NetlinkAccess remaining) {
  // The low halves of the arguments: the kernel reads ints.
  constexpr auto argument = [](unsigned number) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + number * sizeof(uint64_t));
  };
  constexpr uint32_t kX32Bit = 0x40000000;  // __X32_SYSCALL_BIT: the same calls once more
  const uint32_t unless = remaining == NetlinkAccess::route ? NETLINK_ROUTE : UINT32_MAX;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~kX32Bit),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unless, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
    return fail_errno(errno, "filter netlink sockets", Code::unavailable);
  return {};
}

Result<> drop_privileges(const DaemonIdentity& identity) {
  for (cap_value_t cap = 0; identity.root && cap <= cap_max_bits(); cap++) {
    if (cap_get_bound(cap) > 0 && cap_drop_bound(cap) < 0) return fail_errno(errno, "drop a bounding capability");
  }
  if (identity.root) {
    CHECKED(restrict_netlink(NetlinkAccess::none));
    if (::setgroups(0, nullptr) < 0) return fail_errno(errno, "setgroups");
    if (::setresgid(identity.gid, identity.gid, identity.gid) < 0) return fail_errno(errno, "setresgid");
    if (::setresuid(identity.uid, identity.uid, identity.uid) < 0) return fail_errno(errno, "setresuid");
  }
  cap_t none = cap_init();
  int rc = none ? cap_set_proc(none) : -1;
  int error = errno;
  cap_free(none);
  if (rc < 0) return fail_errno(error, "give up capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return fail_errno(errno, "prctl PR_SET_NO_NEW_PRIVS");
#ifdef WARDER_SANITIZED
  // LeakSanitizer attaches to the process at exit.
  if (::prctl(PR_SET_DUMPABLE, 1) < 0) return fail_errno(errno, "prctl PR_SET_DUMPABLE");
#else
  if (::prctl(PR_SET_DUMPABLE, 0) < 0) return fail_errno(errno, "prctl PR_SET_DUMPABLE");
#endif
  return {};
}
