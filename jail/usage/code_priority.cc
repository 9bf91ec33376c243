#include "jail/usage/code_priority.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "supervisor/base/fd.h"

namespace jail {
namespace {

// One process of each session. Init is in the session of the daemon or of a zygote, which must not be lowered; a runner
// that has not begun its own is left out for this reason.
std::map<int, int> sessions_of(const std::vector<int>& processes, int init_pid) {
  const int of_init = ::getsid(init_pid), ours = ::getsid(0);
  std::map<int, int> sessions;
  for (const int pid : processes) {
    const int session = ::getsid(pid);
    if (session > 0 && session != of_init && session != ours) sessions.emplace(session, pid);
  }
  return sessions;
}

int nice_of(size_t processes) {
  int nice = 0;
  for (const auto& step : CodePriority::kSteps)
    if (processes > step.above) nice = step.nice;
  return nice;
}

// Without privileges, the kernel takes ten such writes a second from the whole machine.
bool lower_autogroup(int pid, int nice) {
  const Fd file(::open(fmt::format("/proc/{}/autogroup", pid).c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return true;  // the process has ended, or this kernel makes no autogroups
  const std::string text = std::to_string(nice);
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

void CodePriority::inspect(const Target& target, const TreeUsage& usage) {
  if (usage.processes.empty() || target.init_pid <= 0) return;
  all_ += usage.running - std::exchange(counted_, usage.running);
  const int nice = std::max(nice_, nice_of(std::max({counted_, all_ / kPrograms, size_t{1}})));
  if (nice > nice_ && lower_processes(target, usage.processes, nice)) nice_ = nice;
  if (std::exchange(of_sessions_, nice) < nice) lowered_.clear();
  std::map<int, int> sessions = sessions_of(usage.processes, target.init_pid);
  std::erase_if(lowered_, [&](int session) { return !sessions.contains(session); });
  std::erase_if(sessions, [&](const auto& item) { return lowered_.contains(item.first); });
  lower_sessions(target, sessions, nice);
}

bool CodePriority::lower_processes(const Target& target, const std::vector<int>& processes, int nice) {
  if (target.jailer) return target.jailer->lower_priority(target.init_pidfd, nice, 0, {});
  // EACCES: the code has a lower priority already; ESRCH: the process has ended.
  for (const int pid : processes) (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), nice);
  return true;
}

void CodePriority::lower_sessions(const Target& target, const std::map<int, int>& sessions, int nice) {
  std::vector<int> of_order;
  std::vector<Fd> owned;
  std::vector<int> pidfds;
  const auto send = [&] {
    if (pidfds.empty() || target.jailer->lower_priority(target.init_pidfd, 0, nice, pidfds))
      lowered_.insert(of_order.begin(), of_order.end());
    of_order.clear();
    owned.clear();
    pidfds.clear();
  };
  for (const auto& [session, pid] : sessions) {
    if (!target.jailer) {  // the kernel may take a write only a tenth of a second later: the next look goes on
      if (!lower_autogroup(pid, nice)) return;
      lowered_.insert(session);
      continue;
    }
    of_order.push_back(session);
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) continue;  // the process has ended
    pidfds.push_back(pidfd.get());
    owned.push_back(std::move(pidfd));
    if (pidfds.size() == kMaxNamed) send();
  }
  if (!of_order.empty()) send();
}

bool lower_process(int pid) {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), nice_of(1));
  return lower_autogroup(pid, nice_of(1));
}

}  // namespace jail
