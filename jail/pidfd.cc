#include "jail/pidfd.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "jail/short_text.h"
#include "supervisor/base/fd.h"

namespace jail {
namespace {

// The first 4096 bytes of a file below /proc: a status file has some 1,500 bytes, an fdinfo file some 100.
class ProcText {
 public:
  // The file is PREFIX NUMBER SUFFIX: "/proc/", 12, "/status".
  ProcText(const char* prefix, int number, const char* suffix) {
    ShortText<64> name;
    name << prefix << static_cast<uint64_t>(number) << suffix;
    const Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t n = file ? ::read(file.get(), text_, sizeof text_) : -1;
    size_ = n > 0 ? static_cast<size_t>(n) : 0;
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  char text_[4096];
  size_t size_;
};

// The text behind "key:" and a tab, on the first line that begins so. Empty if no complete line does.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    if (line.size() > key.size() + 1 && line.starts_with(key) && line.substr(key.size(), 2) == ":\t")
      return line.substr(key.size() + 2);
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// ioctl(2) PIDFD_GET_INFO of Linux 6.13, newer than Debian 12's headers: struct pidfd_info in its first size.
struct PidfdInfo {
  uint64_t mask, cgroup;
  uint32_t pid, thread_group, parent, ids[8];
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);
constexpr uint64_t kInfoPid = 1;
constexpr long kPidFileSystem = 0x50494446;  // PID_FS_MAGIC, Linux 6.9

}  // namespace

int pid_of(int pidfd) {
  struct statfs file_system {};
  PidfdInfo pidfd_info{};
  pidfd_info.mask = kInfoPid;
  // A descriptor from a zygote may be a device's, to which the ioctl would mean something else.
  if (::fstatfs(pidfd, &file_system) == 0 && file_system.f_type == kPidFileSystem) {
    if (::ioctl(pidfd, kGetInfo, &pidfd_info) == 0) return static_cast<int>(pidfd_info.pid);
    if (errno == ESRCH) return 0;  // reaped
  }
  const ProcText info("/proc/self/fdinfo/", pidfd, "");
  const auto text = value_of(info.text(), "Pid");
  const auto pid = text ? whole_number<int>(*text) : std::nullopt;
  return pid && *pid > 0 ? *pid : 0;  // -1: reaped
}

bool is_alive(int pidfd) { return ::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0 || errno == EPERM; }

std::optional<ProcessFacts> parse_status(std::string_view text) {
  ProcessFacts facts;
  const auto parent = value_of(text, "PPid"), pids = value_of(text, "NSpid");
  auto uids = value_of(text, "Uid");
  if (!parent || !pids || !uids) return std::nullopt;
  const auto parent_pid = whole_number<int>(*parent);
  const size_t last = pids->rfind('\t');
  const auto innermost = whole_number<int>(last == pids->npos ? *pids : pids->substr(last + 1));
  if (!parent_pid || *parent_pid < 0 || !innermost || *innermost <= 0) return std::nullopt;
  facts.parent = *parent_pid;
  facts.innermost_pid = *innermost;
  for (size_t i = 0; i < facts.uids.size(); i++) {
    const size_t end = std::min(uids->find('\t'), uids->size());
    const auto uid = whole_number<uint32_t>(uids->substr(0, end));
    if (!uid || (end == uids->size()) != (i + 1 == facts.uids.size())) return std::nullopt;
    facts.uids[i] = *uid;
    uids->remove_prefix(std::min(end + 1, uids->size()));
  }
  return facts;
}

std::optional<ProcessFacts> read_process(int pid) { return parse_status(ProcText("/proc/", pid, "/status").text()); }

}  // namespace jail
