// The constants that seccomp profiles may name, each from the header of its manual page.
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "policies/seccomp.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41  // Linux 5.17
#endif
#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY 1027  // Linux 6.10
#endif
#ifndef F_OFD_GETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

namespace policies {

namespace {
struct NamedConstant {
  std::string_view name;
  uint32_t value;
};
#define NAMED(constant) \
  { #constant, static_cast < uint32_t>(constant) }
// clang-format off
constexpr NamedConstant kConstants[] = {
    // socket(2), socketpair(2)
    NAMED(AF_UNIX), NAMED(AF_INET), NAMED(AF_INET6), NAMED(AF_NETLINK), NAMED(AF_PACKET), NAMED(AF_VSOCK),
    NAMED(AF_ALG),
    // clone(2)
    NAMED(CLONE_NEWTIME), NAMED(CLONE_NEWNS), NAMED(CLONE_NEWCGROUP), NAMED(CLONE_NEWUTS), NAMED(CLONE_NEWIPC),
    NAMED(CLONE_NEWUSER), NAMED(CLONE_NEWPID), NAMED(CLONE_NEWNET), NAMED(CLONE_PARENT), NAMED(CLONE_PTRACE),
    // chmod(2), open(2), mknod(2)
    NAMED(S_ISUID), NAMED(S_ISGID), NAMED(S_IFMT), NAMED(S_IFREG), NAMED(S_IFIFO), NAMED(S_IFSOCK), NAMED(S_IFCHR),
    NAMED(S_IFBLK),
    // fcntl(2)
    NAMED(F_DUPFD), NAMED(F_GETFD), NAMED(F_SETFD), NAMED(F_GETFL), NAMED(F_SETFL), NAMED(F_GETLK), NAMED(F_SETLK),
    NAMED(F_SETLKW), NAMED(F_OFD_GETLK), NAMED(F_OFD_SETLK), NAMED(F_OFD_SETLKW), NAMED(F_SETOWN), NAMED(F_GETOWN),
    NAMED(F_SETSIG), NAMED(F_GETSIG), NAMED(F_SETOWN_EX), NAMED(F_GETOWN_EX), NAMED(F_SETLEASE), NAMED(F_GETLEASE),
    NAMED(F_NOTIFY), NAMED(F_DUPFD_QUERY), NAMED(F_DUPFD_CLOEXEC), NAMED(F_SETPIPE_SZ), NAMED(F_GETPIPE_SZ),
    NAMED(F_ADD_SEALS), NAMED(F_GET_SEALS),
    // ioctl_tty(2), ioctl_fs(2), netdevice(7), random(4)
    NAMED(TCGETS), {"TCGETS2", 0x802c542a}, NAMED(TCSETS), NAMED(TCSETSW), NAMED(TCSETSF), NAMED(TCSBRK), NAMED(TCXONC),
    NAMED(TCFLSH), NAMED(TIOCGWINSZ), NAMED(TIOCSWINSZ), NAMED(TIOCGPGRP), NAMED(TIOCSPGRP), NAMED(TIOCGSID),
    NAMED(TIOCSCTTY), NAMED(TIOCNOTTY), NAMED(TIOCOUTQ), NAMED(TIOCSTI), NAMED(TIOCLINUX), NAMED(TIOCGPTN),
    NAMED(TIOCSPTLCK), NAMED(TIOCGPTPEER), NAMED(TIOCPKT), NAMED(FIONREAD), NAMED(FIONBIO), NAMED(FIOASYNC), NAMED(FIOCLEX), NAMED(FIONCLEX),
    NAMED(FIOQSIZE), NAMED(FIGETBSZ), NAMED(FICLONE), NAMED(FICLONERANGE), NAMED(FS_IOC_GETFLAGS), NAMED(FS_IOC_FIEMAP),
    NAMED(SIOCGIFNAME), NAMED(SIOCGIFCONF), NAMED(SIOCGIFFLAGS), NAMED(SIOCGIFADDR), NAMED(SIOCGIFNETMASK),
    NAMED(SIOCGIFBRDADDR), NAMED(SIOCGIFMTU), NAMED(SIOCGIFHWADDR), NAMED(SIOCGIFINDEX), NAMED(RNDGETENTCNT),
    // prctl(2)
    NAMED(PR_SET_PDEATHSIG), NAMED(PR_GET_PDEATHSIG), NAMED(PR_GET_DUMPABLE), NAMED(PR_SET_DUMPABLE),
    NAMED(PR_GET_KEEPCAPS), NAMED(PR_SET_NAME), NAMED(PR_GET_NAME), NAMED(PR_GET_SECCOMP), NAMED(PR_CAPBSET_READ),
    NAMED(PR_GET_SECUREBITS), NAMED(PR_SET_TIMERSLACK), NAMED(PR_GET_TIMERSLACK), NAMED(PR_GET_CHILD_SUBREAPER),
    NAMED(PR_SET_NO_NEW_PRIVS), NAMED(PR_GET_NO_NEW_PRIVS), NAMED(PR_SET_THP_DISABLE), NAMED(PR_GET_THP_DISABLE),
    NAMED(PR_CAP_AMBIENT), NAMED(PR_SET_VMA), NAMED(PR_SET_SECCOMP), NAMED(PR_SET_MM), NAMED(PR_SET_PTRACER),
};
// clang-format on
#undef NAMED
}  // namespace

namespace {
struct ErrnoName {
  std::string_view name;
  int value;
};
// What kernels answer that lack a call, a request, a protocol or a right for it.
constexpr ErrnoName kErrors[] = {
    {"EPERM", EPERM},   {"EACCES", EACCES},         {"EAFNOSUPPORT", EAFNOSUPPORT},
    {"EINVAL", EINVAL}, {"ENODEV", ENODEV},         {"ENOSYS", ENOSYS},
    {"ENOTTY", ENOTTY}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPROTONOSUPPORT", EPROTONOSUPPORT},
};
}  // namespace

std::optional<int> seccomp_errno(std::string_view name) {
  for (const auto& error : kErrors)
    if (error.name == name) return error.value;
  return {};
}

std::vector<std::string> seccomp_errno_names() {
  std::vector<std::string> names;
  for (const auto& error : kErrors) names.emplace_back(error.name);
  return names;
}

std::string_view seccomp_errno_name(int error) {
  for (const auto& existing : kErrors)
    if (existing.value == error) return existing.name;
  return "EPERM";
}

std::optional<uint32_t> seccomp_constant(std::string_view name) {
  for (const auto& constant : kConstants)
    if (constant.name == name) return constant.value;
  return {};
}

}  // namespace policies
