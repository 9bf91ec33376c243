// Outside: a server outside of jails, started with posix_spawn(3). That call uses vfork inside and so needs no jailer.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "jail/slice.h"
#include "jail/usage/code_priority.h"
#include "supervisor/base/fd_pair.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/process.h"

namespace upstream {
namespace {

constexpr int kPidfdIdType = 3;  // P_PIDFD of waitid(2), Linux 5.4
constexpr int kLowerings = 20;   // tries to lower the priority of a server
constexpr std::chrono::milliseconds kBetweenLowerings{130};

std::string describe_end(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("ended with status {}", info.si_status);
  return fmt::format("was ended by signal {}", info.si_status);
}

// Reaps the process. Its process group was killed before.
Task<> reap(AsyncFd pidfd) {
  co_await pidfd.readable();
  siginfo_t info{};
  (void)::waitid(static_cast<idtype_t>(kPidfdIdType), static_cast<id_t>(pidfd.get()), &info, WEXITED);
}

class Outside : public ServerProcess {
 public:
  Outside(Loop& loop, pid_t pid) : loop_(loop), pid_(pid), tasks_(loop) { tasks_.spawn(lower()); }
  ~Outside() override {
    if (!pidfd_) return;
    (void)::kill(-pid_, SIGKILL);  // its process group; the number is not reused before waitid(2)
    loop_.spawn(reap(std::move(pidfd_)));
  }
  AsyncFd& in() override { return in_; }
  AsyncFd& out() override { return out_; }
  AsyncFd& err() override { return err_; }

  Task<std::string> ended() override {
    co_await pidfd_.readable();
    siginfo_t info{};
    if (::waitid(static_cast<idtype_t>(kPidfdIdType), static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOWAIT) < 0)
      co_return "ended";
    co_return describe_end(info);
  }

  Result<> adopt(Fd pidfd, Fd in, Fd out, Fd err) {
    TRY(pidfd_, AsyncFd::adopt(loop_, std::move(pidfd)));
    TRY(in_, AsyncFd::adopt(loop_, std::move(in)));
    TRY(out_, AsyncFd::adopt(loop_, std::move(out)));
    TRY(err_, AsyncFd::adopt(loop_, std::move(err)));
    return {};
  }

 private:
  // The kernel refuses a write when another one was less than a tenth of a second before.
  Task<> lower() {
    for (int tries = 0; tries < kLowerings && !jail::lower_process(pid_); tries++)
      co_await sleep_for(loop_, kBetweenLowerings);
  }

  Loop& loop_;
  pid_t pid_;
  AsyncFd pidfd_, in_, out_, err_;
  Scope tasks_;  // last: cancelled first
};

std::vector<std::string> environment_of(const ServerConfig& config, const Variables& secrets) {
  std::map<std::string, std::string> all;
  for (const char* name : {"PATH", "HOME", "LANG", "USER", "TZ"})
    if (const char* value = std::getenv(name)) all[name] = value;
  for (const auto& [name, value] : config.environment) all[name] = value;
  for (const auto& [name, value] : secrets) all[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// Owns the attributes and file actions of posix_spawn(3).
struct SpawnOrder {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnOrder() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, normal;
    sigemptyset(&none);
    sigfillset(&normal);
    sigdelset(&normal, SIGKILL);
    sigdelset(&normal, SIGSTOP);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &normal);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnOrder() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnOrder(const SpawnOrder&) = delete;
};

}  // namespace

Result<std::unique_ptr<ServerProcess>> start_outside(Loop& loop, const ServerConfig& config, const Variables& secrets) {
  TRY(FdPair in, make_sockets(SOCK_STREAM, Code::exhausted));
  TRY(FdPair out, make_pipe(Code::exhausted));
  TRY(FdPair err, make_pipe(Code::exhausted));
  SpawnOrder order;
  ::posix_spawn_file_actions_adddup2(&order.actions, in.theirs.get(), 0);
  ::posix_spawn_file_actions_adddup2(&order.actions, out.theirs.get(), 1);
  ::posix_spawn_file_actions_adddup2(&order.actions, err.theirs.get(), 2);
  ::posix_spawn_file_actions_addchdir_np(&order.actions, config.folder.empty() ? "/" : config.folder.c_str());
  std::vector<std::string> words = config.command, variables = environment_of(config, secrets);
  const auto argv = pointers(words), envp = pointers(variables);
  pid_t pid = 0;
  // execvp looks in the daemon's PATH.
  jail::set_slice(jail::kUsualSlice);  // the server inherits it
  const int error = ::posix_spawnp(&pid, argv[0], &order.actions, &order.attributes, argv.data(), envp.data());
  jail::set_slice(jail::kShortSliceNs);
  if (error != 0) return fail_errno(error, fmt::format("start '{}'", printable(words[0])), Code::unavailable);
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    const int refused = errno;
    (void)::kill(-pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
    return fail_errno(refused, "pidfd_open", Code::exhausted);
  }
  auto process = std::make_unique<Outside>(loop, pid);
  CHECKED(process->adopt(std::move(pidfd), std::move(in.ours), std::move(out.ours), std::move(err.ours)));
  return std::unique_ptr<ServerProcess>(std::move(process));
}

}  // namespace upstream
