// warder-jail-probe: a program that runs in a jail in place of an interpreter, and tries actions that jailed code must
// not be able to do. Its result message lists the guarantees that do not hold (empty: all hold).
// Used by: jail/execution/self_test.cc, at start-up and on reload; if the jails do not hold, the daemon refuses to
// serve.
#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kGuest = 3;
std::string failures;

void expect(bool holds, const char* guarantee) {
  if (holds) return;
  if (!failures.empty()) failures += ',';
  failures += '"';
  failures += guarantee;
  failures += '"';
}

// The hexadecimal or decimal number after "Name:\t" in /proc/self/status.
long status_number(const char* name, int base) {
  FILE* file = fopen("/proc/self/status", "re");
  if (!file) return -1;
  char line[256];
  long value = -1;
  size_t length = strlen(name);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, name, length) == 0 && line[length] == ':') {
      value = strtol(line + length + 1, nullptr, base);
      break;
    }
  }
  fclose(file);
  return value;
}

bool refused(long result) { return result < 0; }
bool missing(const char* path) { return access(path, F_OK) < 0 && errno == ENOENT; }

void check_identity() {
  expect(getuid() == 1000 && geteuid() == 1000 && getgid() == 1000, "the runner is uid 1000");
  expect(refused(setuid(0)), "the runner cannot become uid 0");
  expect(status_number("CapEff", 16) == 0 && status_number("CapPrm", 16) == 0 && status_number("CapInh", 16) == 0 &&
             status_number("CapBnd", 16) == 0 && status_number("CapAmb", 16) == 0,
         "no capabilities in any set");
  expect(status_number("NoNewPrivs", 10) == 1, "no_new_privs is set");
  expect(status_number("Seccomp", 10) == 2, "a seccomp filter is loaded");
  expect(getppid() == 1 || getppid() == 0, "the parent is the jail's init");
}

void check_system_calls() {
  expect(refused(unshare(CLONE_NEWUSER)), "no new user namespace");
  expect(refused(syscall(SYS_io_uring_setup, 1, nullptr)) && errno == ENOSYS, "no io_uring");
  expect(refused(syscall(SYS_clone3, nullptr, 0)) && errno == ENOSYS, "clone3 reads as missing");
  // The filter must refuse the call; another errno would come from the call's arguments.
  expect(refused(syscall(SYS_keyctl, 0, 0, 0, 0, 0)) && (errno == EPERM || errno == ENOSYS), "no keyrings");
  expect(
      refused(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)) && refused(socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)),
      "no netlink sockets but those of routes");
  expect(refused(syscall(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0)) && errno == EPERM, "no ptrace");
  expect(refused(socket(AF_PACKET, SOCK_RAW, 0)), "no packet sockets");
  expect(refused(syscall(SYS_pidfd_open, 1, 0)) ||
             refused(syscall(SYS_pidfd_getfd, static_cast<int>(syscall(SYS_pidfd_open, 1, 0)), 4, 0)),
         "no descriptors of init");
}

// Entries of /proc beside the processes: harmless ones of the kernel, and files of ours.
constexpr const char* kHarmlessNames[] = {"self",    "thread-self", "mounts",  "net",     "sysvipc", "uptime",
                                          "cpuinfo", "stat",        "sys",     "meminfo", "loadavg", "filesystems",
                                          "swaps",   "vmstat",      "locks",   "devices", "cgroups", "partitions",
                                          "cmdline", "diskstats",   "modules", "mdstat",  "version"};

bool is_shown(const char* name) {
  for (const char* harmless : kHarmlessNames)
    if (strcmp(name, harmless) == 0) return true;
  return name[strspn(name, "0123456789")] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// True for a file that cannot be opened, and for an empty folder.
bool is_covered(int folder, const char* name) {
  const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return true;
  DIR* listing = fdopendir(fd);
  if (!listing) {
    close(fd);
    return false;
  }
  int entries = 0;
  errno = 0;
  while (readdir(listing)) entries++;
  const bool is_whole = errno == 0;
  closedir(listing);
  return is_whole && entries == 2;
}

void check_kernel_files() {
  DIR* proc = opendir("/proc");
  expect(proc != nullptr, "/proc can be listed");
  if (!proc) return;
  for (errno = 0; dirent* entry = readdir(proc); errno = 0)
    if (!is_shown(entry->d_name))
      expect(is_covered(dirfd(proc), entry->d_name), "/proc shows no file of the host's kernel");
  expect(errno == 0, "/proc can be listed to its end");
  closedir(proc);
  expect(missing("/proc/sys/kernel/core_pattern") && missing("/proc/sys/kernel/modprobe"),
         "/proc/sys is not the kernel's");
  for (const char* path : {"/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory", "/proc/meminfo",
                           "/proc/uptime", "/proc/sysrq-trigger", "/proc/sys/kernel/random/uuid", "/proc/sys/x"})
    expect(refused(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), "files of /proc cannot be written");
}

void check_files() {
  expect(refused(open("/x", O_WRONLY | O_CREAT, 0600)), "/ is read-only");
  expect(refused(open("/usr/x", O_WRONLY | O_CREAT, 0600)), "/usr is read-only");
  expect(refused(open("/etc/passwd", O_WRONLY)), "/etc is read-only");
  expect(refused(open("/warder/x", O_WRONLY | O_CREAT, 0600)), "/warder is read-only");
  expect(refused(open("/mnt/x", O_WRONLY | O_CREAT, 0600)), "/mnt is read-only");
  expect(refused(open("/servers/x", O_WRONLY | O_CREAT, 0600)), "/servers is read-only");
  expect(refused(open("/skills/x", O_WRONLY | O_CREAT, 0600)), "/skills is read-only");
  int fd = open("/tmp/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  expect(fd >= 0, "/tmp can be written");
  if (fd >= 0) close(fd);
  expect(missing("/root") && missing("/sys/kernel") && missing("/sys/class") && missing("/boot"), "no host files");
  check_kernel_files();
  expect(missing("/proc/1"), "init is invisible in /proc");
  expect(refused(mknod("/tmp/device", S_IFCHR | 0600, 0x103)), "no device nodes");
  expect(refused(chmod("/", 0700)), "/ cannot be changed");
}

void check_descriptors_and_network() {
  DIR* listing = opendir("/proc/self/fd");
  int extra = 0;
  if (listing) {
    for (errno = 0; dirent* entry = readdir(listing); errno = 0) {
      int fd = atoi(entry->d_name);
      if (entry->d_name[0] != '.' && fd > kGuest && fd != dirfd(listing)) extra++;
    }
    if (errno != 0) extra++;  // an incomplete list
    closedir(listing);
  }
  expect(listing && extra == 0, "no inherited descriptors");
  char name[IFNAMSIZ];
  expect(if_indextoname(1, name) == nullptr || strcmp(name, "lo") == 0, "the first interface is lo");
  expect(if_indextoname(2, name) == nullptr, "no other interface");  // the daemon looks from outside (network_view.h)
  int inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in outside{};
  outside.sin_family = AF_INET;
  outside.sin_port = htons(53);
  outside.sin_addr.s_addr =
      htonl(0xC0000201);  // 192.0.2.1, TEST-NET-1 (RFC 5737); connecting a datagram socket sends nothing
  expect(inet < 0 || refused(connect(inet, reinterpret_cast<sockaddr*>(&outside), sizeof outside)), "no route out");
  utsname host{};
  expect(uname(&host) == 0 && strcmp(host.nodename, "jail") == 0, "a host name of its own");
  rlimit core{};
  expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 1, "no core dumps, not even piped ones");
}

bool send(const std::string& text) {
  std::string packet = "F" + text;
  return ::write(kGuest, packet.data(), packet.size()) == static_cast<ssize_t>(packet.size());
}

}  // namespace

int main() {
  if (!send(R"({"type":"ready","interpreter":"warder-jail-probe"})")) return 1;
  static char run[65536];
  if (::read(kGuest, run, sizeof run) <= 0) return 1;
  check_descriptors_and_network();  // first: the other checks open descriptors
  check_identity();
  check_system_calls();
  check_files();
  struct stat workspace {};
  expect(lstat("/workspace", &workspace) == 0 && S_ISDIR(workspace.st_mode), "the workspace is attached");
  return send(R"({"type":"result","value":[)" + failures + "]}") ? 0 : 1;
}
