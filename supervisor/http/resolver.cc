#include "supervisor/http/resolver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/log.h"

namespace http {
namespace {

constexpr size_t kMostPrinted = 16 << 10;
constexpr size_t kLongestName = 253;
constexpr int kPidfdIdType = 3;  // P_PIDFD of waitid(2), Linux 5.4

bool is_address(const std::string& text) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, text.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= kLongestName && host.front() != '-' &&
         host.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._") == host.npos;
}

Task<> reap(AsyncFd pidfd) {
  co_await pidfd.readable();
  siginfo_t info{};
  (void)::waitid(static_cast<idtype_t>(kPidfdIdType), static_cast<id_t>(pidfd.get()), &info, WEXITED);
}

// A running getent(1). The destructor ends the process.
class Question {
 public:
  explicit Question(Loop& loop) : loop_(loop) {}
  ~Question() {
    if (!pidfd_) return;
    (void)::kill(pid_, SIGKILL);  // the process is not reaped yet, so the number is still its number
    loop_.spawn(reap(std::move(pidfd_)));
  }
  Question(const Question&) = delete;

  Result<> ask(const std::string& host) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return fail_errno(errno, "pipe", Code::exhausted);
    Fd ours(ends[0]), theirs(ends[1]);
    if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) < 0) return fail_errno(errno, "fcntl");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::string words[] = {"getent", "ahosts", host};
    char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    char* const envp[] = {nullptr};
    const int error = ::posix_spawn(&pid_, "/usr/bin/getent", &actions, nullptr, argv, envp);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return fail_errno(error, "start /usr/bin/getent", Code::unavailable);
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    auto watched = pidfd ? AsyncFd::adopt(loop_, std::move(pidfd))
                         : Result<AsyncFd>(fail_errno(errno, "pidfd_open", Code::exhausted));
    if (!watched) {
      (void)::kill(pid_, SIGKILL);
      (void)::waitpid(pid_, nullptr, 0);
      return tl::unexpected<Error>(watched.error());
    }
    pidfd_ = *std::move(watched);
    TRY(out_, AsyncFd::adopt(loop_, std::move(ours)));
    return {};
  }

  // Waits for the end of the process and returns its output; after end_now(), the output so far.
  Task<std::string> answer() {
    std::string printed;
    char part[2048];
    while (printed.size() < kMostPrinted && !ended_) {
      const ssize_t got = ::read(out_.get(), part, sizeof part);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) {
        co_await out_.readable();
        continue;
      }
      if (got <= 0) break;
      printed.append(part, static_cast<size_t>(got));
    }
    co_return printed;
  }
  // Kills the process. That closes the pipe, and answer() returns.
  void end_now() {
    ended_ = true;
    (void)::kill(pid_, SIGKILL);
  }
  bool ended() const { return ended_; }

 private:
  Loop& loop_;
  pid_t pid_ = 0;
  bool ended_ = false;
  AsyncFd pidfd_, out_;
};

}  // namespace

std::vector<std::string> read_addresses(std::string_view printed) {
  std::vector<std::string> addresses;
  while (!printed.empty() && addresses.size() < kMostAddresses) {
    const std::string_view line = printed.substr(0, printed.find('\n'));
    printed.remove_prefix(std::min(printed.size(), line.size() + 1));
    const std::string address(line.substr(0, line.find(' ')));
    if (is_address(address) && std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  return addresses;
}

Task<Result<std::vector<std::string>>> resolve(Loop& loop, std::string host, std::chrono::milliseconds limit) {
  if (is_address(host)) co_return std::vector<std::string>{host};
  if (!is_name(host)) co_return fail(Code::invalid, fmt::format("'{}' is not a host name", printable(host, 80)));
  Question question(loop);
  CO_CHECKED(question.ask(host));
  Deadline deadline(loop, limit, [&question] { question.end_now(); });
  const std::string printed = co_await question.answer();
  auto addresses = read_addresses(printed);
  if (addresses.empty())
    co_return fail(Code::unavailable, fmt::format("the host '{}' {}", host,
                                                  question.ended() ? "was not resolved in time" : "is not known"));
  co_return addresses;
}

}  // namespace http
