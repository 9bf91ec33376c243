// The daemon's own side: code with the daemon's host id. With ids of their own: tests/supervisor/code_priority_test.py.
#include "jail/usage/code_priority.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "supervisor/base/clock.h"
#include "tests/catch.h"

namespace {

// A process that waits; with `begins_session`, it has called setsid(2) when the constructor returns.
class Sleeper {
 public:
  explicit Sleeper(bool begins_session) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid = ::fork();
    if (pid == 0) {
      if (begins_session) ::setsid();
      (void)!::write(ends[1], "x", 1);
      for (;;) ::pause();
    }
    char byte;
    REQUIRE(::read(ends[0], &byte, 1) == 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Sleeper() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  int nice() const { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid)); }
  pid_t pid = 0;
};

// "/autogroup-7 nice 10"; empty where the kernel makes no autogroups.
std::string autogroup_of(int pid) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/autogroup"), line);
  return line.substr(line.find(' ') + 1);
}

}  // namespace

TEST_CASE("code is lowered, with each session that it makes, and its init and daemon are not", "[jail]") {
  const std::string own = autogroup_of(::getpid());
  const int own_nice = ::getpriority(PRIO_PROCESS, 0);
  Sleeper init(false), code(true), other(true), same_session(false);
  jail::CodePriority priority;
  const jail::CodePriority::Target target{init.pid, -1, nullptr};
  jail::TreeUsage usage;
  usage.processes = {code.pid, other.pid, same_session.pid};
  usage.running = 3;
  const auto lowered = [](const Sleeper& child, const char* nice) {
    const std::string now = autogroup_of(child.pid);
    return now.empty() || now == nice;
  };
  const auto since = Monotonic::now();
  while (!lowered(other, "nice 2") && ms_since(since) < 20'000) {  // without privileges, ten writes a second
    priority.inspect(target, usage);
    ::sched_yield();
  }
  priority.inspect(target, usage);
  CHECK(code.nice() == 2);
  CHECK(other.nice() == 2);
  CHECK(lowered(code, "nice 2"));
  CHECK(lowered(other, "nice 2"));
  CHECK(autogroup_of(::getpid()) == own);
  CHECK(::getpriority(PRIO_PROCESS, 0) == own_nice);
  CHECK(init.nice() == own_nice);
  std::vector<Sleeper*> many;
  usage.running += 9;
  for (int i = 0; i < 9; i++) usage.processes.push_back((many.emplace_back(new Sleeper(false)))->pid);
  priority.inspect(target, usage);
  CHECK(code.nice() == 10);
  {
    jail::CodePriority of_another;
    jail::TreeUsage of_others;
    of_others.processes = {other.pid};
    of_others.running = 120;  // with the twelve, 132: each program counts 33
    of_another.inspect(target, of_others);
    priority.inspect(target, usage);
    CHECK(code.nice() == 19);
  }
  CHECK(many.back()->nice() == 19);
  CHECK(init.nice() == own_nice);
  usage.processes.resize(1);
  usage.running = 1;
  priority.inspect(target, usage);
  CHECK(code.nice() == 19);  // never raised
  Sleeper fresh(true);
  jail::CodePriority of_fresh;  // the 120 have ended
  usage.processes = {fresh.pid};
  of_fresh.inspect(target, usage);
  CHECK(fresh.nice() == 2);
  for (Sleeper* child : many) delete child;
}
