// Checks the kernel: the features that jails need, and settings that block them.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "supervisor/operations/doctor/doctor.h"

namespace doctor {
namespace {

constexpr char kCgroups[] = "/sys/fs/cgroup";
constexpr const char* kControllers[] = {"cpu", "io", "memory", "pids"};

bool has_word(const std::string& line, const std::string& word) {
  return (" " + line + " ").find(" " + word + " ") != std::string::npos;
}

Finding look_at_version() {
  utsname name{};
  ::uname(&name);
  unsigned major = 0, minor = 0;
  std::istringstream release(name.release);
  release >> major;
  release.ignore(1);
  release >> minor;
  const std::string match = fmt::format("Linux {} on {}", name.release, name.machine);
  if (std::strcmp(name.machine, "x86_64") != 0)
    return {"kernel", Health::bad, match, "run Warder on x86-64: its system call filters are made for x86-64"};
  if (major < 6 || (major == 6 && minor < 1))
    return {"kernel", Health::bad, match, "use Linux 6.1 or newer (Debian 12)"};
  return {"kernel", Health::good, match, {}};
}

std::string missing_controllers(const std::string& cgroup) {
  const std::string controllers = first_line(cgroup + "/cgroup.controllers");
  std::string missing;
  for (const char* name : kControllers)
    if (!has_word(controllers, name)) missing += std::string(missing.empty() ? "" : ", ") + name;
  return missing;
}

bool has_cgroup2() {
  struct statfs type {};
  return ::statfs(kCgroups, &type) == 0 && type.f_type == CGROUP2_SUPER_MAGIC;
}

Finding look_at_cgroups() {
  if (!has_cgroup2())
    return {"cgroups", Health::note,
            "/sys/fs/cgroup is not cgroup v2: process limits and a memory watch replace it if the policy permits",
            "boot with systemd.unified_cgroup_hierarchy=1, or give the container its own cgroup v2"};
  if (const auto missing = missing_controllers(kCgroups); !missing.empty())
    return {"cgroups", Health::note, "cgroup v2 without the controllers " + missing,
            "boot without cgroup_disable=; in a container, delegate them"};
  return {"cgroups", Health::good, "cgroup v2 with cpu, io, memory, pids", {}};
}

Finding look_at_apparmor() {
  if (first_line("/sys/module/apparmor/parameters/enabled") != "Y") return {"AppArmor", Health::good, "is off", {}};
  if (first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1")
    return {"AppArmor", Health::good, "does not restrict user namespaces", {}};
  if (::access("/etc/apparmor.d/warderd", R_OK) == 0)
    return {"AppArmor", Health::good, "restricts user namespaces; the profile warderd permits them for Warder", {}};
  return {"AppArmor", Health::bad, "restricts user namespaces, and no profile permits them for Warder",
          "cp /usr/share/warder/apparmor/warderd /etc/apparmor.d/ && apparmor_parser -r /etc/apparmor.d/warderd"};
}

Finding look_at_landlock() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version > 0) return {"Landlock", Health::good, fmt::format("ABI {}", version), {}};
  return {"Landlock", Health::note, "is off: only the mount namespace protects files",
          "boot with landlock in lsm= (/sys/kernel/security/lsm lists the active modules)"};
}

Finding look_at_seccomp() {
  if (has_word(first_line("/proc/sys/kernel/seccomp/actions_avail"), "errno"))
    return {"seccomp", Health::good, "filters system calls", {}};
  return {"seccomp", Health::bad, "the kernel has no system call filters", "use a kernel with CONFIG_SECCOMP_FILTER"};
}

// Looks for mounts over parts of /proc. A mount hides a part of /proc, so the kernel refuses a new /proc, which would
// show that part, to a jail (mount_namespaces(7)).
Finding look_at_proc() {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line, masked;
  while (std::getline(mounts, line)) {
    std::istringstream words(line);
    std::string point;
    for (int i = 0; i < 5; i++) words >> point;
    if (point.starts_with("/proc/") && point != "/proc/sys/fs/binfmt_misc") masked = point;
  }
  if (!mounts.eof())
    return {"/proc", Health::note, "/proc/self/mountinfo cannot be read",
            "call the doctor as another user, or as root"};
  if (masked.empty()) return {"/proc", Health::good, "is completely visible", {}};
  return {"/proc", Health::bad, masked + " is covered by a mount, so the kernel refuses each jail its own /proc",
          "container: --security-opt unmask=ALL, or systempaths=unconfined; unit: no ProtectKernelTunables="};
}

}  // namespace

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

Findings examine_kernel() {
  return {look_at_version(), look_at_cgroups(),  look_at_apparmor(),
          look_at_seccomp(), look_at_landlock(), look_at_proc()};
}

// Checks the cgroup of warder.service if it exists, or else the cgroup of the user's service manager.
Finding look_at_delegation() {
  const std::string subject = "delegation", service = std::string(kCgroups) + "/warder.slice/warder.service";
  std::error_code none;
  if (!has_cgroup2())
    return {subject, Health::note, "without cgroup v2, no controllers can be delegated", "see the finding: cgroups"};
  if (std::filesystem::is_directory(service, none)) {
    const auto missing = missing_controllers(service);
    if (missing.empty()) return {subject, Health::good, "warder.service has cpu, io, memory, pids", {}};
    return {subject, Health::bad, "warder.service lacks " + missing,
            "set Delegate=cpu io memory pids in warder.service"};
  }
  if (::geteuid() == 0) {
    if (std::filesystem::exists("/usr/lib/systemd/system/warder.service", none))
      return {subject, Health::good, "warder.service requests the controllers at its start", {}};
    return {subject, Health::note,
            "warder.service is not installed: a daemon has only the controllers of the unit that starts it",
            "install the package, or start warderd by: systemd-run --property=Delegate=yes"};
  }
  const std::string own = fmt::format("{}/user.slice/user-{}.slice/user@{}.service", kCgroups, ::getuid(), ::getuid());
  if (!std::filesystem::is_directory(own, none))
    return {subject, Health::note, "this user has no service manager that can delegate controllers",
            "loginctl enable-linger"};
  if (const auto missing = missing_controllers(own); !missing.empty())
    return {subject, Health::note, "services of this user lack " + missing,
            "write [Service] Delegate=cpu io memory pids to /etc/systemd/system/user@.service.d/delegate.conf"};
  return {subject, Health::good, "services of this user have cpu, io, memory, pids", {}};
}

Finding judge_user_namespaces(int error) {
  if (error == 0) return {"user namespaces", Health::good, "can be created", {}};
  const std::string match = "cannot be created: " + std::string(std::strerror(error));
  if (first_line("/proc/sys/user/max_user_namespaces") == "0")
    return {"user namespaces", Health::bad, match, "sysctl user.max_user_namespaces=65536"};
  if (first_line("/proc/sys/kernel/unprivileged_userns_clone") == "0")
    return {"user namespaces", Health::bad, match, "sysctl kernel.unprivileged_userns_clone=1"};
  return {"user namespaces", Health::bad, match,
          "permit clone() and unshare() in the seccomp profile of the container, or start it with --privileged"};
}

}  // namespace doctor
