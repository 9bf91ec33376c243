#include "tests/bench/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace bench {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const auto& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

double us_of(const timeval& t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); }

}  // namespace

Result<Process> Process::start(const Command& command) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  auto words = pointers(command.words), environment = pointers(command.environment);
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, words[0], &files, &attributes, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail_errno(error, "start " + command.words[0], Code::unavailable);
  return Process(pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
}

Process::~Process() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<Process::End> Process::wait() {
  constexpr int kPatienceMs = std::chrono::milliseconds(kPatience).count();
  pollfd ended{pidfd_.get(), POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&ended, 1, kPatienceMs);
  while (ready < 0 && errno == EINTR);
  if (ready != 1) return fail(Code::internal, "process " + std::to_string(pid_) + " did not end in a minute");
  End end;
  rusage usage{};
  if (::wait4(std::exchange(pid_, -1), &end.status, 0, &usage) < 0) return fail_errno(errno, "wait4");
  end.cpu_us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
  return end;
}

void Process::signal(int number) const { ::kill(pid_, number); }

double cpu_us_of(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
  FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  unsigned long long ran_ns = 0;
  if (std::fscanf(file, "%llu", &ran_ns) != 1) ran_ns = 0;
  std::fclose(file);
  return static_cast<double>(ran_ns) / 1000;
}

}  // namespace bench
