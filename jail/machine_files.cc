#include "jail/machine_files.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "jail/template_file.h"

namespace jail {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMaxShownProcessors = 64;

struct ProcFile {
  const char* name;
  const char* text;
};
constexpr ProcFile kProcFiles[] = {
    {"loadavg", "0.00 0.00 0.00 1/1 1\n"},
    {"filesystems", "nodev\ttmpfs\nnodev\tproc\nnodev\tdevpts\nnodev\toverlay\n\text4\n"},
    {"vmstat",
     "nr_free_pages 0\nnr_dirty 0\nnr_writeback 0\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\n"
     "pgmajfault 0\noom_kill 0\n"},
};

// Settings that programs read, copied from this machine below proc/sys.
constexpr const char* kSettings[] = {
    "fs/aio-max-nr",
    "fs/file-max",
    "fs/inotify/max_queued_events",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "fs/nr_open",
    "fs/pipe-max-size",
    "fs/protected_hardlinks",
    "fs/protected_symlinks",
    "kernel/cap_last_cap",
    "kernel/ngroups_max",
    "kernel/osrelease",
    "kernel/ostype",
    "kernel/overflowgid",
    "kernel/overflowuid",
    "kernel/pid_max",
    "kernel/pty/max",
    "kernel/randomize_va_space",
    "kernel/sem",
    "kernel/shmall",
    "kernel/shmmax",
    "kernel/shmmni",
    "kernel/threads-max",
    "kernel/version",
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/somaxconn",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/ip_unprivileged_port_start",
    "net/ipv6/bindv6only",
    "vm/max_map_count",
    "vm/mmap_min_addr",
    "vm/overcommit_memory",
    "vm/overcommit_ratio",
    "vm/page-cluster",
    "vm/swappiness",
};
constexpr ProcFile kOwnSettings[] = {
    {"fs/file-nr", "0\t0\t9223372036854775807\n"},
    {"kernel/domainname", "jail\n"},
    {"kernel/hostname", "jail\n"},
    {"kernel/perf_event_paranoid", "4\n"},        // perf_event_open is refused
    {"kernel/random/uuid", ""},                   // jail/init/proc.cc mounts the kernel's, which is new at each read
    {"kernel/unprivileged_userns_clone", "0\n"},  // Debian's
    {"kernel/yama/ptrace_scope", "3\n"},          // ptrace is refused
    {"user/max_user_namespaces", "0\n"},
};

// Lines of a processor in /proc/cpuinfo that every program learns by the instruction cpuid, too.
constexpr std::string_view kProcessorLines[] = {
    "vendor_id",  "cpu family",   "model",           "model name",   "stepping", "cpu MHz",
    "cache size", "fpu",          "fpu_exception",   "cpuid level",  "wp",       "flags",
    "bogomips",   "clflush size", "cache_alignment", "address sizes"};

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  write_template_file(path, text);
}

uint32_t online_processors() {
  static const int online = get_nprocs();  // the files are written once, too; and each call reads /sys
  return static_cast<uint32_t>(std::clamp(online, 1, static_cast<int>(kMaxShownProcessors)));
}

std::vector<std::string> processor_lines() {
  std::vector<std::string> lines;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string_view name = std::string_view(line).substr(0, line.find_first_of("\t:"));
    if (std::find(std::begin(kProcessorLines), std::end(kProcessorLines), name) != std::end(kProcessorLines))
      lines.push_back(line);
  }
  return lines;
}

std::string cpuinfo_text(uint32_t processors, const std::vector<std::string>& lines) {
  std::string text;
  for (uint32_t i = 0; i < processors; i++) {
    text += fmt::format("processor\t: {}\n", i);
    for (const auto& line : lines) text += line + "\n";
    text += fmt::format(
        "physical id\t: 0\nsiblings\t: {0}\ncore id\t\t: {1}\ncpu cores\t: {0}\napicid\t\t: {1}\n"
        "initial apicid\t: {1}\n\n",
        processors, i);
  }
  return text;
}

// Times of processors that were idle since the machine's start. The jail's own CPU time is not in it.
std::string stat_text(uint32_t processors) {
  timespec now{}, up{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  const auto idle = static_cast<uint64_t>(up.tv_sec) * static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  std::string text = fmt::format("cpu  0 0 0 {} 0 0 0 0 0 0\n", idle * processors);
  for (uint32_t i = 0; i < processors; i++) text += fmt::format("cpu{} 0 0 0 {} 0 0 0 0 0 0\n", i, idle);
  text += fmt::format(
      "intr 0\nctxt 0\nbtime {}\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
      now.tv_sec - up.tv_sec);
  return text;
}

void write_settings(const fs::path& sys) {
  for (const char* name : kSettings) {
    const std::string text = read_text(fs::path("/proc/sys") / name);
    if (!text.empty()) write_text(sys / name, text);
  }
  for (const auto& file : kOwnSettings) write_text(sys / file.name, file.text);
  write_text(sys / "kernel/random/boot_id", read_text("/proc/sys/kernel/random/uuid"));  // not that of the machine
}

}  // namespace

void write_machine_files(const fs::path& root) {
  const fs::path proc = root / "warder/proc";
  for (const auto& file : kProcFiles) write_text(proc / file.name, file.text);
  const auto lines = processor_lines();
  for (uint32_t n = 1; n <= online_processors(); n++) {
    write_text(proc / fmt::format("cpuinfo.{}", n), cpuinfo_text(n, lines));
    write_text(proc / fmt::format("stat.{}", n), stat_text(n));
  }
  write_settings(proc / "sys");
  const fs::path cpu = "sys/devices/system/cpu";
  for (const char* name : {"online", "possible", "present", "kernel_max"})
    write_text(root / cpu / name, read_text("/" / cpu / name));
}

uint32_t shown_processors(double cpus) {
  const double full = std::ceil(std::max(cpus, 1.0));
  return static_cast<uint32_t>(std::min<double>(full, online_processors()));
}

}  // namespace jail
