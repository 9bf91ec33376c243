#include "supervisor/programs/packages/confined_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/fd_pair.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace packages {
namespace {

constexpr size_t kMaxConfinedOutput = 64 << 10;
constexpr int kCannotStart = 126;
// Folders with data of users and of Warder. An empty folder is mounted over each one that exists.
constexpr const char* kHidden[] = {"/home",       "/root",           "/tmp", "/run/user", "/run/warder",
                                   "/etc/warder", "/var/lib/warder", "/srv", "/mnt",      "/media"};

// In the child: says what failed, and ends.
[[noreturn]] void give_up(const char* kind) {
  const int error = errno;
  ::dprintf(STDERR_FILENO, "%s: %s\n", kind, std::strerror(error));
  ::_exit(kCannotStart);
}

void set_read_only(const char* path, unsigned flags, bool read_only) {
  mount_attr attributes{};
  (read_only ? attributes.attr_set : attributes.attr_clr) = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attributes, sizeof attributes) < 0) give_up("mount_setattr");
}

void mount_view(const ConfinedRun& confined_run) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) give_up("make mounts private");
  const char* folder = confined_run.folder.c_str();
  if (::mount(folder, folder, nullptr, MS_BIND, nullptr) < 0) give_up("bind the folder");
  for (const char* hidden : kHidden) {
    struct stat status {};
    if (::lstat(hidden, &status) < 0 || !S_ISDIR(status.st_mode)) continue;
    if (::mount("none", hidden, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=4k") < 0) give_up(hidden);
  }
  // Only the program's own processes.
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) < 0) give_up("mount /proc");
  set_read_only("/", AT_RECURSIVE, true);
  set_read_only(folder, 0, false);
}

void limit_resources() {
  const std::pair<int, rlim_t> limits[] = {
      {RLIMIT_CORE, 0}, {RLIMIT_NPROC, 512}, {RLIMIT_NOFILE, 4096}, {RLIMIT_FSIZE, rlim_t{1} << 30}};
  for (const auto& [kind, max] : limits) {
    const rlimit both{max, max};
    if (::setrlimit(static_cast<__rlimit_resource_t>(kind), &both) < 0) give_up("setrlimit");
  }
}

void become_fetcher() {
  if (::setgroups(0, nullptr) < 0 || ::setresgid(kFetcherId, kFetcherId, kFetcherId) < 0 ||
      ::setresuid(kFetcherId, kFetcherId, kFetcherId) < 0)
    give_up("change the user");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) give_up("PR_SET_NO_NEW_PRIVS");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) give_up("PR_SET_PDEATHSIG");  // after the ids, which clear it
}

// Process 1 of the new namespace: its end ends all others.
[[noreturn]] void become_program(const ConfinedRun& confined_run) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) give_up("PR_SET_PDEATHSIG");
  mount_view(confined_run);
  if (::chdir(confined_run.folder.c_str()) < 0) give_up("enter the folder");
  limit_resources();
  become_fetcher();
  std::vector<std::string> texts = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + confined_run.folder,
                                    "TMPDIR=" + confined_run.folder, "LANG=C"};
  for (const auto& [name, value] : confined_run.environment) texts.push_back(name + "=" + value);
  std::vector<std::string> words = confined_run.words;
  std::vector<char*> argv, envp;
  for (auto& word : words) argv.push_back(word.data());
  for (auto& text : texts) envp.push_back(text.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const char* index : {"/usr/local/bin/", "/usr/bin/", "/bin/"})
    ::execve((index + words[0]).c_str(), argv.data(), envp.data());
  give_up(words[0].c_str());
}

[[noreturn]] void become_child(const ConfinedRun& confined_run, pid_t parent, int input, int output) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || ::getppid() != parent) ::_exit(kCannotStart);
  // Neither root's terminal nor root's keys: a session of its own, and a new session keyring (keyctl(2)).
  if (::setsid() < 0) ::_exit(kCannotStart);
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS && errno != EPERM)
    ::_exit(kCannotStart);
  if (::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0)
    ::_exit(kCannotStart);
  if (::syscall(SYS_close_range, 3, ~0U, 0) < 0) give_up("close_range");
  int spaces = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID;
  if (confined_run.network == ConfinedRun::Network::none) spaces |= CLONE_NEWNET;
  if (::unshare(spaces) < 0) give_up("make namespaces");
  const pid_t program = ::fork();
  if (program < 0) give_up("fork");
  if (program == 0) become_program(confined_run);
  int status = 0;
  while (::waitpid(program, &status, 0) < 0)
    if (errno != EINTR) give_up("waitpid");
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

constexpr std::chrono::milliseconds kFolderLook{500};
constexpr std::chrono::seconds kEndLimit{10};

// Reads until the last process has closed the pipe. Errors: the time is over; the folder is too large.
Result<> read_output(int pipe, const ConfinedRun& confined_run, int folder, std::string& output) {
  const auto until = Monotonic::now() + confined_run.limit;
  auto next_check = Monotonic::now() + kFolderLook;
  char part[4096];
  for (;;) {
    const auto now = Monotonic::now();
    if (now >= until)
      return fail(Code::unavailable,
                  fmt::format("{} did not end in {} s", confined_run.words[0], confined_run.limit.count()));
    if (now >= next_check) {
      TRY(const bool is_over, is_over_limits(folder, confined_run.folder_limits));
      if (is_over)
        return fail(Code::exhausted, fmt::format("{} wrote more than {} MB, {} files or {} nested folders",
                                                 confined_run.words[0], confined_run.folder_limits.bytes >> 20,
                                                 confined_run.folder_limits.entries, confined_run.folder_limits.depth));
      next_check = Monotonic::now() + kFolderLook;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(until, next_check) - now);
    pollfd item{pipe, POLLIN, 0};
    if (::poll(&item, 1, static_cast<int>(wait.count())) == 0) continue;
    const ssize_t got = ::read(pipe, part, sizeof part);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fail_errno(errno, "read the output of " + confined_run.words[0]);
    if (got == 0) return {};
    output.append(part, static_cast<size_t>(got));
    if (output.size() > 2 * kMaxConfinedOutput) output.erase(0, output.size() - kMaxConfinedOutput);
  }
}

// Until the last process has gone: the kernel ends all of a pid namespace with its first process.
void wait_for_end_of(int pipe) {
  const auto until = Monotonic::now() + kEndLimit;
  char part[4096];
  while (Monotonic::now() < until) {
    pollfd item{pipe, POLLIN, 0};
    if (::poll(&item, 1, 100) > 0 && ::read(pipe, part, sizeof part) == 0) return;
  }
}

// The end of the output, its lines joined.
std::string last_lines(const std::string& output) {
  std::string all;
  for (const char c : output.substr(output.size() - std::min<size_t>(output.size(), 2000)))
    if (c != '\n' || !all.empty()) all += c == '\n' ? std::string("; ") : printable(std::string_view(&c, 1), 4);
  while (all.ends_with("; ")) all.resize(all.size() - 2);
  return all;
}

}  // namespace

Result<std::string> run_confined(const ConfinedRun& confined_run, int standard_input) {
  if (::geteuid() != 0) return fail(Code::denied, "only root can run a program as another user", "call as root");
  TRY(const Fd folder, open_directory(confined_run.folder));
  if (::fchownat(folder.get(), "", kFetcherId, kFetcherId, AT_EMPTY_PATH) < 0)
    return fail_errno(errno, "chown " + confined_run.folder);
  Fd empty(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!empty) return fail_errno(errno, "open /dev/null");
  TRY(FdPair pipe, make_pipe(Code::unavailable));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork", Code::unavailable);
  if (child == 0)
    become_child(confined_run, parent, standard_input < 0 ? empty.get() : standard_input, pipe.theirs.get());
  pipe.theirs.reset();
  std::string output;
  const auto ended = read_output(pipe.ours.get(), confined_run, folder.get(), output);
  if (!ended) {
    (void)::kill(child, SIGKILL);
    wait_for_end_of(pipe.ours.get());
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail_errno(errno, "wait for " + confined_run.words[0]);
  if (!ended) return tl::unexpected<Error>(ended.error());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  return fail(Code::unavailable, fmt::format("{} failed: {}", confined_run.words[0], last_lines(output)));
}

}  // namespace packages
