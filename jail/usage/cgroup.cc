#include "jail/usage/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "supervisor/base/folder.h"

namespace jail {
namespace {

constexpr const char* kControllers[] = {"memory", "pids", "cpu"};
constexpr long kCgroup2Magic = 0x63677270;  // CGROUP2_SUPER_MAGIC, linux/magic.h

Result<> write_file(int directory, const char* name, std::string_view text) {
  Fd fd(::openat(directory, name, O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("open {}", name));
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, fmt::format("write {} to {}", text, name));
  return {};
}

Result<std::string> read_file(int directory, const char* name) {
  Fd fd(::openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("open {}", name));
  std::string text(4096, '\0');
  ssize_t n = ::read(fd.get(), text.data(), text.size());
  if (n < 0) return fail_errno(errno, fmt::format("read {}", name));
  text.resize(static_cast<size_t>(n));
  return text;
}

// The number after "key " at the start of a line, or the whole text's number when key is empty.
uint64_t number_of(const std::string& text, std::string_view key) {
  size_t at = 0;
  if (!key.empty()) {
    std::string start = std::string(key) + " ";
    at = text.starts_with(start) ? 0 : text.find("\n" + start);
    if (at == std::string::npos) return 0;
    at = text.find(' ', at) + 1;
  }
  uint64_t value = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

uint64_t read_number(int directory, const char* name, std::string_view key = {}) {
  auto text = read_file(directory, name);
  return text ? number_of(*text, key) : 0;
}

Result<std::string> own_cgroup_path() {
  Fd fd(::open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open /proc/self/cgroup", Code::unavailable);
  std::string text(4096, '\0');
  ssize_t n = ::read(fd.get(), text.data(), text.size());
  if (n < 0) return fail_errno(errno, "read /proc/self/cgroup", Code::unavailable);
  text.resize(static_cast<size_t>(n));
  size_t at = text.starts_with("0::") ? 0 : text.find("\n0::");
  if (at == std::string::npos)
    return fail(Code::unavailable, "this system has no cgroup v2 hierarchy",
                "boot with systemd.unified_cgroup_hierarchy=1");
  at = text.find("0::", at) + 3;
  return text.substr(at, text.find('\n', at) - at);
}

Result<Fd> make_directory(int parent, const char* name) {
  if (::mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
    return fail_errno(errno, fmt::format("make cgroup {}", name), Code::unavailable);
  Fd directory(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno(errno, fmt::format("open cgroup {}", name), Code::unavailable);
  return directory;
}

Result<> enable_controllers(int directory) {
  for (const char* controller : kControllers) {
    if (auto done = write_file(directory, "cgroup.subtree_control", fmt::format("+{}", controller)); !done)
      return tl::unexpected(std::move(done).error().within(fmt::format("enable the {} controller", controller)));
  }
  return {};
}

Result<> give_to(int directory, CgroupTree::Owner owner) {
  for (const char* name : {".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"}) {
    if (::fchownat(directory, name, owner.uid, owner.gid, 0) < 0)
      return fail_errno(errno, fmt::format("give {} away", name));
  }
  // The jailer has the owner's group. When the jailer clones into a leaf, the kernel requires write access to
  // cgroup.procs of the common ancestor (cgroup-v2.rst, "Delegation Containment").
  if (::fchmodat(directory, "cgroup.procs", 0664, 0) < 0) return fail_errno(errno, "chmod cgroup.procs");
  return {};
}

Result<> remove_left_overs(int jails) {
  TRY(FolderReader entries, FolderReader::at(jails, "jails"));
  for (;;) {
    TRY(const dirent* entry, entries.next());
    if (entry == nullptr) return {};
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    Fd leaf(::openat(jails, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!leaf) continue;
    (void)write_file(leaf.get(), "cgroup.kill", "1");
    // Killed processes leave within microseconds each; the kernel answers EBUSY until then.
    for (int i = 0; i < 1000 && ::unlinkat(jails, entry->d_name, AT_REMOVEDIR) < 0 && errno == EBUSY; i++)
      ::usleep(1000);
  }
}

}  // namespace

Result<> Cgroup::set(const CgroupLimits& limits) {
  if (set_.tasks == 0) {  // the first call: settings that never change
    // Kernels without swap accounting lack the file; then there is no swap to take either.
    if (auto swap = write_file(directory_.get(), "memory.swap.max", "0"); !swap && swap.error().err != ENOENT)
      return tl::unexpected(std::move(swap).error());
    CHECKED(write_file(directory_.get(), "memory.oom.group", "1"));
  }
  if (limits.memory_bytes != set_.memory_bytes)
    CHECKED(write_file(directory_.get(), "memory.max", fmt::format("{}", limits.memory_bytes)));
  if (limits.tasks != set_.tasks) CHECKED(write_file(directory_.get(), "pids.max", fmt::format("{}", limits.tasks)));
  constexpr uint64_t kPeriodUs = 100'000;
  auto quota = static_cast<uint64_t>(limits.cpus * kPeriodUs);
  if (set_.tasks == 0 || limits.cpus != set_.cpus)
    CHECKED(write_file(directory_.get(), "cpu.max", fmt::format("{} {}", quota, kPeriodUs)));
  set_ = limits;
  return {};
}

Result<CgroupUsage> Cgroup::usage() const {
  CgroupUsage usage;
  TRY(std::string cpu, read_file(directory_.get(), "cpu.stat"));
  usage.cpu_us = number_of(cpu, "usage_usec");
  usage.memory_peak_bytes = read_number(directory_.get(), "memory.peak");
  usage.tasks_peak = static_cast<uint32_t>(read_number(directory_.get(), "pids.peak"));
  usage.oom_kills = read_number(directory_.get(), "memory.events", "oom_kill");
  usage.tasks_refused = read_number(directory_.get(), "pids.events", "max");
  return usage;
}

uint64_t Cgroup::memory_bytes() const { return read_number(directory_.get(), "memory.current"); }
Result<> Cgroup::set_weight(unsigned weight) {
  return write_file(directory_.get(), "cpu.weight", fmt::format("{}", weight));
}
uint64_t Cgroup::cpu_us() const { return read_number(directory_.get(), "cpu.stat", "usage_usec"); }
Result<> Cgroup::take_process(int pid) {
  if (pid <= 0) return fail(Code::unavailable, "a jail ended before it was in its cgroup");
  return write_file(directory_.get(), "cgroup.procs", fmt::format("{}", pid));
}
Result<> Cgroup::freeze() { return write_file(directory_.get(), "cgroup.freeze", "1"); }
Result<> Cgroup::thaw() { return write_file(directory_.get(), "cgroup.freeze", "0"); }
Result<> Cgroup::kill() { return write_file(directory_.get(), "cgroup.kill", "1"); }
uint32_t Cgroup::tasks() const { return static_cast<uint32_t>(read_number(directory_.get(), "pids.current")); }
size_t Cgroup::processes() const {
  auto list = read_file(directory_.get(), "cgroup.procs");
  return list ? static_cast<size_t>(std::count(list->begin(), list->end(), '\n')) : 0;
}
bool Cgroup::populated() const { return read_number(directory_.get(), "cgroup.events", "populated") != 0; }

Result<> Cgroup::remove() {
  if (!directory_) return {};
  if (::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR) < 0 && errno != ENOENT)
    return fail_errno(errno, fmt::format("remove cgroup {}", name_), errno == EBUSY ? Code::exhausted : Code::internal);
  directory_.reset();
  return {};
}

Result<CgroupTree> CgroupTree::adopt(std::optional<Owner> owner) {
  TRY(std::string path, own_cgroup_path());
  CgroupTree tree;
  tree.path_ = path;
  std::string mount = "/sys/fs/cgroup";
  struct statfs kind {};
  if (::statfs(mount.c_str(), &kind) < 0 || kind.f_type != kCgroup2Magic)
    return fail(
        Code::unavailable, "/sys/fs/cgroup is not a cgroup v2 file system",
        "boot with systemd.unified_cgroup_hierarchy=1, or set isolation.cgroups to \"preferred\" in the policy");
  // A restarted daemon may find itself in the sub-cgroup already (systemd's DelegateSubgroup=).
  constexpr std::string_view kOwn = "/supervisor";
  if (path.ends_with(kOwn)) path.resize(path.size() - kOwn.size());
  Fd base(::open((mount + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base) return fail_errno(errno, fmt::format("open cgroup {}", path), Code::unavailable);
  auto with_remedy = [&](Error error) {
    error = std::move(error).within(fmt::format("cgroup {}", path.empty() ? "/" : path));
    error.code = Code::unavailable;
    if (error.hint.empty())
      error.hint =
          "run under systemd with Delegate=cpu memory pids, or set isolation.cgroups to \"preferred\" in the policy";
    return tl::unexpected<Error>(std::move(error));
  };
  TRY(std::string offered, read_file(base.get(), "cgroup.controllers"));
  for (const char* controller : kControllers) {
    if (offered.find(controller) == std::string::npos)
      return with_remedy(
          Error{Code::unavailable, 0, fmt::format("the {} controller is not delegated here", controller), {}, {}});
  }
  auto own = make_directory(base.get(), "supervisor");
  if (!own) return with_remedy(std::move(own).error());
  if (auto moved = write_file(own->get(), "cgroup.procs", "0"); !moved) return with_remedy(std::move(moved).error());
  if (auto enabled = enable_controllers(base.get()); !enabled) return with_remedy(std::move(enabled).error());
  auto jails = make_directory(base.get(), "jails");
  if (!jails) return with_remedy(std::move(jails).error());
  if (auto removed = remove_left_overs(jails->get()); !removed) return with_remedy(std::move(removed).error());
  if (auto enabled = enable_controllers(jails->get()); !enabled) return with_remedy(std::move(enabled).error());
  if (owner) {
    for (int directory : {base.get(), own->get(), jails->get()}) {
      if (auto input = give_to(directory, *owner); !input) return with_remedy(std::move(input).error());
    }
  }
  tree.jails_ = *std::move(jails);
  return tree;
}

Result<Cgroup> CgroupTree::make_leaf(const std::string& name) {
  if (::mkdirat(jails_.get(), name.c_str(), 0755) < 0)
    return fail_errno(errno, fmt::format("make cgroup {}", name), Code::unavailable);
  // The mode must not depend on the umask: the jailer opens `..` of the leaf, and has no capability that skips
  // permissions.
  if (::fchmodat(jails_.get(), name.c_str(), 0755, 0) < 0) return fail_errno(errno, "open a cgroup for the jailer");
  Fd directory(::openat(jails_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno(errno, fmt::format("open cgroup {}", name), Code::unavailable);
  if (::fchmodat(directory.get(), "cgroup.procs", 0664, 0) < 0)
    return fail_errno(errno, "chmod cgroup.procs", Code::unavailable);
  Fd parent(::fcntl(jails_.get(), F_DUPFD_CLOEXEC, 3));
  return Cgroup(std::move(parent), std::move(directory), name);
}

}  // namespace jail
