// A child of the jailer in a jail's user namespace, and a process that has all capabilities there.
#include "jail/jailer/jailed_child.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>

#include "supervisor/base/fd.h"
#include "tests/catch.h"

using namespace jail;

namespace {

// A child process that does its work and then waits, until the test ends it.
class WaitingChild {
 public:
  // `work` returns 0 or an errno, which error() returns. `namespaces`: CLONE_NEW*, for the child.
  WaitingChild(const std::function<int()>& work, uint64_t namespaces) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const Fd reading(ends[0]);
    Fd writing(ends[1]);
    int pidfd = -1;
    clone_args args{};
    args.flags = namespaces | CLONE_PIDFD;
    args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
    args.exit_signal = SIGCHLD;
    pid_ = static_cast<int>(::syscall(SYS_clone3, &args, sizeof args));
    if (pid_ < 0) {
      error_ = errno;
      return;
    }
    if (pid_ == 0) {
      const int error = work();
      (void)!::write(writing.get(), &error, sizeof error);
      for (;;) ::pause();
    }
    pidfd_ = Fd(pidfd);
    writing.reset();
    error_ = ECHILD;
    (void)!::read(reading.get(), &error_, sizeof error_);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  ~WaitingChild() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  int error() const { return error_; }

 private:
  int pid_ = -1;
  Fd pidfd_;
  int error_ = 0;
};

bool write_file(int pid, const char* name, const std::string& text) {
  const Fd file(::open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// What a process gets that has all capabilities in the user namespace of `init`: 0, or the errno of its attempt.
int copy_descriptor(const WaitingChild& init, const WaitingChild& victim) {
  const WaitingChild attacker(
      [&] {
        if (::setns(init.pidfd(), CLONE_NEWUSER) < 0) return 1000 + errno;
        return ::syscall(SYS_pidfd_getfd, victim.pidfd(), 0, 0) < 0 ? errno : 0;
      },
      0);
  return attacker.error();
}

int open_memory(const WaitingChild& init, const WaitingChild& victim) {
  const std::string path = "/proc/" + std::to_string(victim.pid()) + "/mem";
  const WaitingChild attacker(
      [&] {
        if (::setns(init.pidfd(), CLONE_NEWUSER) < 0) return 1000 + errno;
        return ::open(path.c_str(), O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
      },
      0);
  return attacker.error();
}

}  // namespace

TEST_CASE("a jailer's child in a jail's namespaces is closed to processes with capabilities there", "[jail]") {
  const WaitingChild init([] { return 0; }, CLONE_NEWUSER | CLONE_NEWNET);
  if (init.error() != 0) {
    WARN("SKIPPED-NEEDS user namespaces");
    return;
  }
  REQUIRE(write_file(init.pid(), "setgroups", "deny"));
  REQUIRE(write_file(init.pid(), "uid_map", "0 " + std::to_string(::geteuid()) + " 1\n"));
  REQUIRE(write_file(init.pid(), "gid_map", "0 " + std::to_string(::getegid()) + " 1\n"));

  const WaitingChild open([&] { return ::setns(init.pidfd(), CLONE_NEWUSER | CLONE_NEWNET) < 0 ? errno : 0; }, 0);
  REQUIRE(open.error() == 0);
  CHECK(copy_descriptor(init, open) == 0);  // so the attempts below would succeed without enter_jail()
  CHECK(open_memory(init, open) == 0);

  const WaitingChild guarded([&] { return enter_jail(init.pidfd(), CLONE_NEWUSER | CLONE_NEWNET); }, 0);
  REQUIRE(guarded.error() == 0);
  CHECK(copy_descriptor(init, guarded) == EPERM);
  CHECK(open_memory(init, guarded) == EACCES);
}

TEST_CASE("a jailer's child ends with no descriptor, and closes none of a table that it shares", "[jail]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd reading(ends[0]), writing(ends[1]);
  clone_args args{};
  args.flags = CLONE_FILES;
  args.exit_signal = SIGCHLD;
  const auto child = static_cast<int>(::syscall(SYS_clone3, &args, sizeof args));
  REQUIRE(child >= 0);
  if (child == 0) end_in_jail();
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(::write(writing.get(), "x", 1) == 1);
}
