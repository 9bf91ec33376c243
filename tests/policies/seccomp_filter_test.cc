// What the shipped profile answers to each kind of call, without making one.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "policies/seccomp.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/policies/bpf_evaluator.h"

using namespace policies;

#if defined(__x86_64__)
namespace {

Json document() { return Json::parse(std::ifstream(WARDER_SOURCE_DIR "/policies/seccomp/default.json")); }

const std::vector<sock_filter>& filter() {
  static const std::vector<sock_filter> program = [] {
    auto profile = parse_seccomp("default", document(), nullptr);
    if (!profile) throw std::runtime_error(profile.error().front().what);
    auto compiled = compile_seccomp(*profile);
    if (!compiled) throw std::runtime_error(compiled.error().what);
    return *compiled;
  }();
  return program;
}

constexpr uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kMissing = SECCOMP_RET_ERRNO | ENOSYS;
constexpr uint32_t kNoFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;  // of sockets
constexpr uint32_t kInvalid = SECCOMP_RET_ERRNO | EINVAL;         // of fcntl and prctl
constexpr uint32_t kNoRequest = SECCOMP_RET_ERRNO | ENOTTY;       // of ioctl

FilterVerdict ask(long number, const Arguments& arguments = {}, uint32_t arch = AUDIT_ARCH_X86_64) {
  return evaluate(filter(), made_up_call(number, arguments, arch));
}

struct Row {
  const char* about;
  long number;
  Arguments arguments;
  uint32_t action;
};

}  // namespace

TEST_CASE("the shipped filter answers each call as its profile says", "[seccomp]") {
  const Row rows[] = {
      {"read", SYS_read, {}, kAllow},
      {"execve, which starts the interpreter", SYS_execve, {}, kAllow},
      {"restart_syscall", SYS_restart_syscall, {}, kAllow},

      {"setuid to the own id", SYS_setuid, {1000}, kAllow},
      {"setresgid that leaves the id", SYS_setresgid, {kHigh | 0xffffffff, 1000, 1000}, kAllow},
      {"setuid to another id", SYS_setuid, {kHigh | 65534}, kDenied},
      {"setreuid to another id", SYS_setreuid, {0, 0}, kDenied},
      {"seteuid to another id", SYS_setresuid, {0xffffffff, 65534, 0xffffffff}, kDenied},

      {"clone3: fall back to clone", SYS_clone3, {}, kMissing},
      {"io_uring_setup", SYS_io_uring_setup, {}, kMissing},
      {"io_uring_enter", SYS_io_uring_enter, {}, kMissing},
      {"io_uring_register", SYS_io_uring_register, {}, kMissing},
      {"splice", SYS_splice, {}, kMissing},
      {"tee", SYS_tee, {}, kMissing},
      {"vmsplice", SYS_vmsplice, {}, kMissing},
      {"userfaultfd", SYS_userfaultfd, {}, kMissing},
      {"keyctl", SYS_keyctl, {}, kMissing},
      {"add_key", SYS_add_key, {}, kMissing},
      {"request_key", SYS_request_key, {}, kMissing},
      {"openat2", SYS_openat2, {}, kMissing},

      {"bpf", SYS_bpf, {}, kKill},
      {"mount", SYS_mount, {}, kKill},
      {"umount2", SYS_umount2, {}, kKill},
      {"pivot_root", SYS_pivot_root, {}, kKill},
      {"move_mount", SYS_move_mount, {}, kKill},
      {"open_tree", SYS_open_tree, {}, kKill},
      {"fsopen", SYS_fsopen, {}, kKill},
      {"mount_setattr", SYS_mount_setattr, {}, kKill},
      {"init_module", SYS_init_module, {}, kKill},
      {"finit_module", SYS_finit_module, {}, kKill},
      {"delete_module", SYS_delete_module, {}, kKill},
      {"kexec_load", SYS_kexec_load, {}, kKill},
      {"kexec_file_load", SYS_kexec_file_load, {}, kKill},
      {"reboot", SYS_reboot, {}, kKill},
      {"swapon", SYS_swapon, {}, kKill},

      {"ptrace: crash reporters probe it", SYS_ptrace, {}, kDenied},
      {"unshare: probed, so not killed", SYS_unshare, {}, kDenied},
      {"setns", SYS_setns, {}, kDenied},
      {"chroot", SYS_chroot, {}, kDenied},
      {"process_vm_readv", SYS_process_vm_readv, {}, kDenied},
      {"process_vm_writev", SYS_process_vm_writev, {}, kDenied},
      {"process_madvise", SYS_process_madvise, {}, kDenied},
      {"pidfd_getfd", SYS_pidfd_getfd, {}, kDenied},
      {"kcmp", SYS_kcmp, {}, kDenied},
      {"perf_event_open", SYS_perf_event_open, {}, kDenied},
      {"quotactl", SYS_quotactl, {}, kMissing},
      {"setxattr: cp -p falls back to chmod", SYS_setxattr, {}, kUnsupported},
      {"fsetxattr", SYS_fsetxattr, {}, kUnsupported},
      {"removexattr", SYS_removexattr, {}, kUnsupported},
      {"mbind: as without NUMA", SYS_mbind, {}, kMissing},
      {"io_setup: databases use threads", SYS_io_setup, {}, kMissing},
      {"mq_open", SYS_mq_open, {}, kMissing},
      {"open_by_handle_at", SYS_open_by_handle_at, {}, kDenied},
      {"name_to_handle_at", SYS_name_to_handle_at, {}, kUnsupported},
      {"syslog", SYS_syslog, {}, kDenied},
      {"settimeofday", SYS_settimeofday, {}, kDenied},
      {"seccomp: as a kernel without filters", SYS_seccomp, {}, kMissing},
      {"sync: of the whole host", SYS_sync, {}, kDenied},
      {"iopl", SYS_iopl, {}, kDenied},

      {"kill", SYS_kill, {1234, 9}, kAllow},
      {"tgkill", SYS_tgkill, {}, kAllow},

      {"socket(AF_UNIX)", SYS_socket, {AF_UNIX}, kAllow},
      {"socket(AF_INET)", SYS_socket, {AF_INET}, kAllow},
      {"socket(AF_INET6)", SYS_socket, {AF_INET6}, kAllow},
      {"socket(AF_INET) with high bits, as the kernel reads it", SYS_socket, {kHigh | AF_INET}, kAllow},
      {"socket(AF_INET, UDP)", SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_UDP}, kAllow},
      {"socket(AF_INET6, TCP)", SYS_socket, {AF_INET6, SOCK_STREAM, IPPROTO_TCP}, kAllow},
      {"socket(AF_INET, SCTP)", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, kNoFamily},
      {"socket(AF_INET, DCCP)", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_DCCP}, kNoFamily},
      {"socket(AF_INET6, UDP-Lite)", SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDPLITE}, kNoFamily},
      {"socket(AF_INET, MPTCP)", SYS_socket, {AF_INET, SOCK_STREAM, 262}, kNoFamily},
      {"renameat2(RENAME_EXCHANGE)", SYS_renameat2, {0, 0, 0, 0, 2}, kAllow},
      {"renameat2(RENAME_WHITEOUT)", SYS_renameat2, {0, 0, 0, 0, 4}, kDenied},
      {"socket(AF_NETLINK, ROUTE)", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, kAllow},
      {"socket(AF_NETLINK, SOCK_DIAG)", SYS_socket, {AF_NETLINK, SOCK_RAW, 4}, kNoFamily},
      {"socket(AF_NETLINK, NETFILTER)", SYS_socket, {AF_NETLINK, SOCK_RAW, 12}, kNoFamily},
      {"socket(AF_VSOCK)", SYS_socket, {AF_VSOCK}, kNoFamily},
      {"socket(AF_VSOCK) with high bits", SYS_socket, {kHigh | AF_VSOCK}, kNoFamily},
      {"socket(AF_ALG)", SYS_socket, {AF_ALG}, kNoFamily},
      {"socket(AF_PACKET)", SYS_socket, {AF_PACKET}, kNoFamily},
      {"socketpair(AF_UNIX)", SYS_socketpair, {AF_UNIX}, kAllow},
      {"socketpair(AF_INET)", SYS_socketpair, {AF_INET}, kUnsupported},

      {"fork by clone", SYS_clone, {SIGCHLD}, kAllow},
      {"a thread",
       SYS_clone,
       {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS},
       kAllow},
      {"vfork by clone", SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}, kAllow},
      {"clone(CLONE_NEWUSER)", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, kDenied},
      {"clone(CLONE_NEWNS)", SYS_clone, {CLONE_NEWNS}, kDenied},
      {"clone(CLONE_NEWPID)", SYS_clone, {CLONE_NEWPID}, kDenied},
      {"clone(CLONE_NEWNET)", SYS_clone, {CLONE_NEWNET}, kDenied},
      {"clone(CLONE_NEWIPC)", SYS_clone, {CLONE_NEWIPC}, kDenied},
      {"clone(CLONE_NEWUTS)", SYS_clone, {CLONE_NEWUTS}, kDenied},
      {"clone(CLONE_NEWCGROUP)", SYS_clone, {CLONE_NEWCGROUP}, kDenied},
      {"clone(CLONE_PARENT)", SYS_clone, {CLONE_PARENT}, kDenied},
      {"clone(CLONE_NEWUSER) with high bits", SYS_clone, {kHigh | CLONE_NEWUSER}, kDenied},
      {"a fork with high bits", SYS_clone, {kHigh | SIGCHLD}, kAllow},

      {"ioctl(TCGETS)", SYS_ioctl, {0, TCGETS}, kAllow},
      {"ioctl(TIOCGWINSZ)", SYS_ioctl, {1, TIOCGWINSZ}, kAllow},
      {"ioctl(FIONBIO) sign-extended", SYS_ioctl, {1, 0xffffffff00000000 | FIONBIO}, kAllow},
      {"ioctl(TIOCSTI)", SYS_ioctl, {0, TIOCSTI}, kNoRequest},
      {"ioctl(TIOCSTI) with high bits", SYS_ioctl, {0, kHigh | TIOCSTI}, kNoRequest},
      {"ioctl(TIOCLINUX)", SYS_ioctl, {0, TIOCLINUX}, kNoRequest},
      {"ioctl(TIOCLINUX) with high bits", SYS_ioctl, {0, 0x100000000 | TIOCLINUX}, kNoRequest},

      {"fcntl(F_SETLK)", SYS_fcntl, {3, F_SETLK}, kAllow},
      {"fcntl(F_DUPFD_CLOEXEC)", SYS_fcntl, {3, F_DUPFD_CLOEXEC}, kAllow},
      {"fcntl(F_SETLEASE)", SYS_fcntl, {3, F_SETLEASE}, kInvalid},
      {"fcntl(F_NOTIFY)", SYS_fcntl, {3, F_NOTIFY}, kInvalid},
      {"fcntl(F_NOTIFY) with high bits", SYS_fcntl, {3, kHigh | F_NOTIFY}, kInvalid},

      {"chmod 755", SYS_chmod, {0, 0755}, kAllow},
      {"chmod 1777", SYS_chmod, {0, 01777}, kAllow},
      {"chmod 4755", SYS_chmod, {0, 04755}, kDenied},
      {"chmod 2755 with high bits", SYS_chmod, {0, kHigh | 02755}, kDenied},
      {"fchmod 4755", SYS_fchmod, {3, 04755}, kDenied},
      {"fchmod 644", SYS_fchmod, {3, 0644}, kAllow},
      {"fchmodat 2755", SYS_fchmodat, {3, 0, 02755}, kDenied},
      {"fchmodat 600", SYS_fchmodat, {3, 0, 0600}, kAllow},
      {"open to create 644", SYS_open, {0, O_CREAT, 0644}, kAllow},
      {"open to create 4755", SYS_open, {0, O_CREAT, 04755}, kDenied},
      {"openat to create 644", SYS_openat, {3, 0, O_CREAT, 0644}, kAllow},
      {"openat to create 6755", SYS_openat, {3, 0, O_CREAT, 06755}, kDenied},
      {"creat 4755", SYS_creat, {0, 04755}, kDenied},
      {"mknod of a FIFO", SYS_mknod, {0, S_IFIFO | 0600}, kAllow},
      {"mknod of a file", SYS_mknod, {0, 0600}, kAllow},
      {"mknod of a set-id file", SYS_mknod, {0, S_IFREG | 04755}, kDenied},
      {"mknod of a disk", SYS_mknod, {0, S_IFBLK | 0600}, kDenied},
      {"mknodat of a device", SYS_mknodat, {3, 0, S_IFCHR | 0600}, kDenied},
      {"mknodat of a socket", SYS_mknodat, {3, 0, S_IFSOCK | 0600}, kAllow},

      {"prctl(PR_SET_NAME)", SYS_prctl, {PR_SET_NAME}, kAllow},
      {"prctl(PR_SET_NO_NEW_PRIVS)", SYS_prctl, {PR_SET_NO_NEW_PRIVS}, kAllow},
      {"prctl(PR_SET_SECCOMP)", SYS_prctl, {PR_SET_SECCOMP}, kInvalid},
      {"prctl(PR_SET_MM)", SYS_prctl, {PR_SET_MM}, kInvalid},
      {"prctl(PR_CAP_AMBIENT)", SYS_prctl, {PR_CAP_AMBIENT}, kInvalid},
      {"prctl(PR_SET_PTRACER)", SYS_prctl, {PR_SET_PTRACER}, kInvalid},

      {"personality asked for", SYS_personality, {0xffffffff}, kAllow},
      {"personality asked for, sign-extended", SYS_personality, {~uint64_t{0}}, kAllow},
      {"personality set", SYS_personality, {0x0040000}, kDenied},
      {"personality reset", SYS_personality, {0}, kDenied},

      {"the newest call that was thought about", 450, {}, kMissing},
      {"newer: cachestat", 451, {}, kMissing},
      {"newer: fchmodat2, which could set ids", 452, {0, 0, 04755}, kMissing},
      {"far in the future", 100000, {}, kMissing},
      {"not a call", -1, {}, kDenied},
      {"between the tables of calls", 400, {}, kDenied},
      {"x32 read", 0x40000000, {}, kKill},
      {"x32 ioctl, whose number is that of amd64", 0x40000000 | SYS_ioctl, {}, kKill},
      {"x32 of a newer call", 0x40000000 | 451, {}, kKill},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    CHECK(ask(row.number, row.arguments).action == row.action);
  }
}

TEST_CASE("calls of another architecture end the process", "[seccomp]") {
  for (uint32_t arch : std::initializer_list<uint32_t>{AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0})
    for (long number : {0l, 1l, 3l, 11l, 102l, 451l}) CHECK(ask(number, {}, arch).action == kKill);
}

TEST_CASE("every call of the profile does what its list says, and every other is refused", "[seccomp]") {
  auto profile = parse_seccomp("default", document(), nullptr);
  REQUIRE(profile);
  std::map<std::string, uint32_t> expected;
  size_t allowed = 0;
  for (const auto& [rules, action] : {std::pair(&profile->allow, kAllow),
                                      {&profile->missing, kMissing},
                                      {&profile->kill, kKill},
                                      {&profile->deny, kDenied}}) {
    for (const auto& rule : *rules) {
      CHECK(rule.comment.size() > 10);
      for (const auto& call : rule.calls) {
        allowed += action == kAllow;
        if (rule.when.empty())
          expected[call] =
              action == kDenied && rule.error != 0 ? SECCOMP_RET_ERRNO | static_cast<uint32_t>(rule.error) : action;
      }
    }
  }
  CHECK(allowed >= 220);
  size_t seen = 0;
  for (const auto& [call, action] : expected) {
    const int number = seccomp_syscall_resolve_name(call.c_str());
    if (number < 0) continue;
    CAPTURE(call);
    CHECK(ask(number).action == action);
    seen++;
  }
  CHECK(seen > 300);
}

TEST_CASE("the filter is a tree: every answer is near, and the whole fits the kernel", "[seccomp]") {
  INFO(filter().size() << " instructions");
  CHECK(filter().size() < 300);  // the kernel compiles it for every jail
  size_t limit = 0;
  for (long number = 0; number <= 460; number++) limit = std::max(limit, ask(number).steps);
  INFO("at most " << limit << " steps");
  CHECK(limit < 200);  // ioctl and its list; a line of 250 calls would be longer for the last of them
  CHECK(ask(SYS_read).steps < 40);
  CHECK(ask(SYS_statx).steps < 40);
}

TEST_CASE("the audit profile refuses the same and logs it", "[seccomp]") {
  auto base = parse_seccomp("default", document(), nullptr);
  REQUIRE(base);
  auto audit =
      parse_seccomp("audit", Json::parse(std::ifstream(WARDER_SOURCE_DIR "/policies/seccomp/audit.json")), &*base);
  REQUIRE(audit);
  CHECK(seccomp_flags(*audit) == SECCOMP_FILTER_FLAG_LOG);
  auto compiled = compile_seccomp(*audit);
  REQUIRE(compiled);
  REQUIRE(compiled->size() == filter().size());
  CHECK(std::memcmp(compiled->data(), filter().data(), filter().size() * sizeof(sock_filter)) == 0);
}
#endif
