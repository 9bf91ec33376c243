// Processes that the benchmark starts: posix_spawn(3), ends waited for with a bound, their CPU time.
// Errors: unavailable when the program is not there; internal when it failed or did not end.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace bench {

constexpr auto kPatience = std::chrono::seconds(60);  // for anything that should end or answer by itself

struct Command {
  std::vector<std::string> words;  // words[0] is a path
  std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp"};
  std::string output = "/dev/null";  // both streams; created if absent
};

class Process {
 public:
  // In a session of its own, so that a terminal's Ctrl-C is ours alone.
  static Result<Process> start(const Command& command);
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
  ~Process();  // SIGKILL, if it was not waited for
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process& operator=(Process&&) = delete;

  struct End {
    int status = 0;     // as of waitpid(2)
    double cpu_us = 0;  // its own and that of the children it waited for
  };
  Result<End> wait();
  void signal(int number) const;
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }

 private:
  Process(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_;
  Fd pidfd_;
};

// CPU time of a living process with one thread: /proc/PID/schedstat, nanoseconds. 0 where the kernel does not count.
double cpu_us_of(pid_t pid);

}  // namespace bench
