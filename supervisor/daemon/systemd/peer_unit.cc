#include "supervisor/daemon/systemd/peer_unit.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "supervisor/base/fd.h"

namespace {

// The process's effective user id. Read from the text of /proc/PID/status: the file's owner is root when the process is
// not dumpable (proc(5)).
std::optional<uid_t> user_of(pid_t pid) {
  std::unique_ptr<FILE, int (*)(FILE*)> status(std::fopen(fmt::format("/proc/{}/status", pid).c_str(), "re"),
                                               std::fclose);
  char line[256];
  unsigned real = 0, effective = 0;
  while (status && std::fgets(line, sizeof line, status.get())) {
    if (std::sscanf(line, "Uid: %u %u", &real, &effective) == 2) return effective;
  }
  return {};
}

bool has_ended(const Fd& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) != 0;
}

}  // namespace

std::optional<std::string> unit_of(pid_t pid, uid_t uid) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process || user_of(pid) != uid) return {};
  char* name = nullptr;
  const int count = ::sd_pid_get_unit(pid, &name);
  const std::unique_ptr<char, void (*)(void*)> owner(name, std::free);
  if (has_ended(process)) return {};
  if (count == -ENODATA || count == -ENXIO) return "";
  if (count < 0) return {};
  return name;
}
