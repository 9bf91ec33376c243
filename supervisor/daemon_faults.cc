// Faults of the machine: the jailer process ends, or the disk of the state folder takes no writes.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

#include "supervisor/daemon.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kEndOfJailer = 20ms;     // a process's sockets close before waitpid(2) reports its status
constexpr auto kLastAnswersLimit = 5s;  // every jail has ended, so all calls are answered soon

// The jailer is the daemon's only child.
std::string how_child_ended() {
  int status = 0;
  if (::waitpid(-1, &status, WNOHANG) <= 0) return "";
  if (WIFSIGNALED(status)) return fmt::format(" (signal {}: {})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format(" (status {})", WEXITSTATUS(status));
}

}  // namespace

// Every jail has ended with the jailer, and no new jail can be built. The daemon answers the waiting calls and ends.
Task<> Daemon::end_without_jailer() {
  status_ = 1;
  co_await sleep_for(loop_, kEndOfJailer);
  log_error(
      "the jailer process ended{}, and all jails ended with it: the daemon answers its calls, ends, and is restarted "
      "by systemd; without systemd, start it again",
      how_child_ended());
  if (!std::exchange(ending_, true)) co_await drain(kLastAnswersLimit);
}

void Daemon::watch_state_disk() {
  auto failing = [this] { return journal_->failing(); };
  auto told = [this] {
    const auto& trouble = state_disk_->trouble();
    if (!ending_) service_.status(trouble ? "serving; " + trouble->what : "serving");
  };
  state_disk_ =
      std::make_unique<StateDisk>(loop_, *skill_disk_, prepared_.options.state, std::move(failing), std::move(told));
}

doctor::Finding Daemon::judge_state_disk() const {
  const auto& trouble = state_disk_->trouble();
  const std::string& folder = prepared_.options.state;
  return trouble ? doctor::judge_state_disk(trouble->what, trouble->remedy, folder)
                 : doctor::judge_state_disk({}, {}, folder);
}
