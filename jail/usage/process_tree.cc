#include "jail/usage/process_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/folder.h"
#include "supervisor/base/text_lines.h"

namespace jail {
namespace {

constexpr size_t kMaxProcesses = 1024;

std::string read_text(const Fd& fd) {
  std::string text(8192, '\0');
  ssize_t n = fd ? ::pread(fd.get(), text.data(), text.size(), 0) : 0;
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

Fd open_text(const std::string& path) { return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }
std::string read_text(const std::string& path) { return read_text(open_text(path)); }

// Adds the children of one thread.
void add_children_of(const std::string& tasks, std::string_view thread, std::vector<int>& pids) {
  const std::string text = read_text(fmt::format("{}/{}/children", tasks, thread));
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end && pids.size() < kMaxProcesses) {
    int child = 0;
    auto [next, error] = std::from_chars(at, end, child);
    if (error != std::errc{}) break;
    pids.push_back(child);
    at = next + 1;
  }
}

// Adds the children of every thread of `pid`; returns the number of threads, 0 if they cannot all be read. `second`
// gets the id of the oldest thread beside the first. `threads`: as the process's stat has it; the folder of a process
// with one thread need not be read.
uint32_t add_children(int pid, std::vector<int>& pids, uint32_t threads = 0, std::string* second = nullptr) {
  std::string tasks = fmt::format("/proc/{}/task", pid);
  if (threads == 1) return add_children_of(tasks, std::to_string(pid), pids), 1;
  auto reader = FolderReader::open(tasks);
  if (!reader) return 0;
  for (threads = 0;;) {
    const auto entry = reader->next();
    if (!entry) return 0;
    if (*entry == nullptr) return threads;
    threads++;
    if (second && threads == 2) *second = (*entry)->d_name;
    add_children_of(tasks, (*entry)->d_name, pids);
  }
}

// proc(5), stat: field 3 is the state; 14 to 17 are utime, stime, cutime and cstime, in clock ticks; field 20 is the
// number of threads.
struct Stat {
  char state = 0;  // 0: it could not be read
  uint64_t own_ticks = 0, waited_for_ticks = 0;
  uint32_t threads = 0;
};
Stat stat_of(int pid) {
  std::string stat = read_text(fmt::format("/proc/{}/stat", pid));
  size_t name_end = stat.rfind(')');
  char state = 0;
  unsigned long user = 0, system = 0, children_user = 0, children_system = 0, threads = 0;
  if (name_end == std::string::npos ||
      std::sscanf(stat.c_str() + name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu %*d %*d %lu", &state, &user, &system,
                  &children_user, &children_system, &threads) != 6)
    return {};
  return {state, user + system, children_user + children_system, static_cast<uint32_t>(threads)};
}

// One number of a process's status, in bytes; 0 when the key is missing.
uint64_t status_bytes(std::string_view status, std::string_view key) {
  const size_t at = status.find(key);
  if (at == status.npos) return 0;
  std::string_view value = status.substr(at + key.size());
  value.remove_prefix(std::min(value.find_first_of("0123456789"), value.size()));
  uint64_t kib = 0;
  (void)std::from_chars(value.data(), value.data() + value.size(), kib);
  return kib * 1024;
}

// If a process's first thread has ended and others continue, the status under the process's number shows no memory.
std::string status_with_memory(int pid, const std::string& second) {
  std::string status = read_text(fmt::format("/proc/{}/status", pid));
  if (status.find("\nVmRSS:") != status.npos || second.empty()) return status;
  return read_text(fmt::format("/proc/{}/task/{}/status", pid, second));
}

// The most that the kernel holds for each socket: the default (net.core.wmem_default), and for TCP (init/loopback.cc).
constexpr uint64_t kSocketBytes = 212'992, kFreeSockets = 64;

// Bytes that the sockets in the network namespace of `pid` may hold, including sockets sent in messages not yet
// received.
uint64_t socket_bytes(int pid) {
  const std::string text = read_text(fmt::format("/proc/{}/net/sockstat", pid));
  uint64_t used = 0;
  if (std::sscanf(text.c_str(), "sockets: used %lu", &used) != 1 || used <= kFreeSockets) return 0;
  return (used - kFreeSockets) * kSocketBytes;
}

constexpr size_t kMaxSmapsBytes = 1 << 20;  // some 1,300 mappings; what lies behind them counts as the jail's own
constexpr double kReadValuesEveryMs = 1000;

// Pages of `values` that this process has mapped. If smaps may not be read (the code has another host id), the most
// that they can be: then mapped files of temporary folders are not counted beside them. Such files are not counted
// either while no process maps them, and have a bound of their own (policies/uncounted_memory.h). proc(5), smaps: a
// line "start-end perms offset dev inode path" for each mapping, then its numbers. "Rss" without "Anonymous", which are
// the process's own copies.
uint64_t mapped_values_of(int pid, const SharedValues& values) {
  const Fd smaps = open_text(fmt::format("/proc/{}/smaps", pid));
  if (!smaps) return values.bytes();
  std::string text(kMaxSmapsBytes, '\0');
  size_t size = 0;
  while (smaps && size < text.size()) {
    const ssize_t n = ::read(smaps.get(), text.data() + size, text.size() - size);
    if (n < 0) return values.bytes();
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  uint64_t bytes = 0, resident = 0;
  bool is_values = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string line(*take_line(rest));
    unsigned device_major = 0, device_minor = 0;
    unsigned long inode = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%*x-%*x %*4s %*x %x:%x %lu", &device_major, &device_minor, &inode) == 3) {
      is_values = inode == values.inode() && ::makedev(device_major, device_minor) == values.device();
    } else if (is_values && std::sscanf(line.c_str(), "Rss: %lu kB", &kib) == 1) {
      resident = kib * 1024;
    } else if (is_values && std::sscanf(line.c_str(), "Anonymous: %lu kB", &kib) == 1) {
      bytes += resident - std::min<uint64_t>(resident, kib * 1024);
    }
  }
  return bytes;
}

// Text of a file "children" with at most one child: a number and a space. A longer text has more children.
struct FewChildren {
  explicit FewChildren(const Fd& file) : size(file ? ::pread(file.get(), text, sizeof text, 0) : -1) {}
  bool is_none() const { return size == 0; }
  // The number of the only child; 0 when there is no child, or more than one.
  int only() const {
    int child = 0;
    if (size < 2) return 0;
    auto [next, error] = std::from_chars(text, text + size, child);
    return error == std::errc{} && next == text + size - 1 ? child : 0;
  }
  char text[24];
  ssize_t size;
};

// CPU time of another process, in microseconds. The id of its clock is its number, inverted, and CPUCLOCK_SCHED
// (clock_getcpuclockid(3), posix-timers.h).
std::optional<uint64_t> cpu_clock_us(int pid) {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2);
  timespec used{};
  if (::clock_gettime(clock, &used) < 0) return std::nullopt;
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000 + static_cast<uint64_t>(used.tv_nsec) / 1000;
}

}  // namespace

TreeUsage read_process_tree(int init_pid, const SharedValues* apart) {
  TreeUsage usage;
  if (init_pid <= 0) return usage;
  const Stat of_init = stat_of(init_pid);
  if (of_init.state == 0) return usage;
  usage.is_read = true;
  uint64_t shared = 0, ticks = of_init.waited_for_ticks;
  std::vector<int> pids;
  add_children(init_pid, pids);
  for (size_t i = 0; i < pids.size(); i++) {
    std::string second;
    const Stat stat = stat_of(pids[i]);
    ticks += stat.own_ticks + stat.waited_for_ticks;
    if (stat.state == 'R') usage.running++;
    usage.tasks += add_children(pids[i], pids, stat.threads, &second);
    const std::string status = status_with_memory(pids[i], second);
    for (std::string_view key : {"\nVmPTE:", "\nVmSwap:", "\nRssAnon:", "\nHugetlbPages:"})
      usage.memory_bytes += status_bytes(status, key);
    uint64_t of_process = status_bytes(status, "\nRssShmem:");
    if (apart && of_process > 0) of_process -= std::min(of_process, mapped_values_of(pids[i], *apart));
    shared = std::max(shared, of_process);
  }
  usage.cpu_us = ticks * 1'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  usage.memory_bytes += shared;
  usage.shared_bytes = shared;
  if (!pids.empty()) usage.memory_bytes += socket_bytes(init_pid);
  usage.processes = std::move(pids);
  return usage;
}

uint64_t ValuesApart::memory_bytes(const TreeUsage& usage) const {
  return usage.memory_bytes - (values_ ? std::min(apart_bytes_, usage.shared_bytes) : 0);
}

bool ValuesApart::must_read(const TreeUsage& usage, uint64_t limit_bytes) const {
  if (!values_) return false;
  const bool is_fresh = apart_bytes_ == 0 || ms_since(read_at_) < kReadValuesEveryMs;
  return memory_bytes(usage) > limit_bytes || !is_fresh;
}

void ValuesApart::take(const TreeUsage& usage, const TreeUsage& without_values) {
  read_at_ = Monotonic::now();
  apart_bytes_ = usage.shared_bytes - std::min(usage.shared_bytes, without_values.shared_bytes);
}

LoneProcessFiles::LoneProcessFiles(int init_pid) {
  if (init_pid <= 0) return;
  // Each has one thread: the file of the first thread is the file of the process.
  of_init_ = open_text(fmt::format("/proc/{0}/task/{0}/children", init_pid));
  pid_ = FewChildren(of_init_).only();
  if (pid_ == 0) return;
  children_ = open_text(fmt::format("/proc/{0}/task/{0}/children", pid_));
  stat_ = open_text(fmt::format("/proc/{}/stat", pid_));
  status_ = open_text(fmt::format("/proc/{}/status", pid_));
}

bool LoneProcessFiles::is_only_child() const { return pid_ != 0 && FewChildren(of_init_).only() == pid_; }

bool LoneProcessFiles::has_children(Threads threads) const {
  if (threads == Threads::one) return !FewChildren(children_).is_none();
  std::vector<int> pids;  // each thread has its own children
  return add_children(pid_, pids) == 0 || !pids.empty();
}

std::optional<uint64_t> LoneProcessFiles::own_cpu_us() const {
  if (!is_only_child() || has_children(Threads::one)) return std::nullopt;
  return cpu_clock_us(pid_);
}

std::optional<LoneProcess> LoneProcessFiles::read(Threads allowed) const {
  if (!is_only_child() || has_children(allowed)) return std::nullopt;
  // proc(5), stat: after the name in parentheses the third field; 16 and 17 are cutime and cstime, 20 the threads.
  std::string stat = read_text(stat_);
  size_t name_end = stat.rfind(')');
  char state = 0;
  unsigned long children_user = 0, children_system = 0, threads = 0;
  if (name_end == std::string::npos ||
      std::sscanf(stat.c_str() + name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %lu %lu %*d %*d %lu", &state, &children_user,
                  &children_system, &threads) != 4 ||
      (threads != 1 && allowed == Threads::one) || state == 'Z' || state == 'X')
    return std::nullopt;
  const auto own = cpu_clock_us(pid_);
  if (!own) return std::nullopt;
  LoneProcess lone;
  lone.cpu_us = *own + (children_user + children_system) * 1'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  std::string status = read_text(status_);
  unsigned long peak_kib = 0;
  if (size_t at = status.find("VmHWM:"); at != std::string::npos)
    (void)std::sscanf(status.c_str() + at, "VmHWM: %lu", &peak_kib);
  if (peak_kib == 0) return std::nullopt;  // the process is ending: its memory is gone already
  lone.peak_bytes = peak_kib * 1024;
  lone.shared_bytes = status_bytes(status, "\nRssShmem:");
  return lone;
}

}  // namespace jail
