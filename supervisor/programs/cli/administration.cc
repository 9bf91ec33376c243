#include "supervisor/programs/cli/administration.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "supervisor/base/fd.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/run.h"
#include "supervisor/programs/cli/socket.h"

namespace cli {
namespace {

constexpr auto kExplainPatience = std::chrono::seconds(3);
constexpr size_t kMaxExplained = 4096;  // bytes

constexpr char kProgram[] = "warder-admin";

// All that comes from the descriptor until its end, a limit or the patience.
std::string read_answer(int fd) {
  const auto until = std::chrono::steady_clock::now() + kExplainPatience;
  std::string answer;
  char chunk[1024];
  while (answer.size() < kMaxExplained) {
    const auto remaining =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd polled{fd, POLLIN, 0};
    if (remaining <= 0 || ::poll(&polled, 1, static_cast<int>(remaining)) <= 0) break;
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got <= 0) break;
    answer.append(chunk, static_cast<size_t>(got));
  }
  return answer;
}

}  // namespace

bool is_administration(std::string_view command) {
  if (command == "config") return false;  // the command of `warder` itself; arguments.cc finds `config check`
  const auto& all = admin::commands();
  return std::any_of(all.begin(), all.end(), [command](const auto& item) {
    const std::string_view name = item.name;
    return name.substr(0, name.find(' ')) == command;
  });
}

void exec_beside(const std::string& name, char** argv) {
  const auto here = std::filesystem::path(own_path()).parent_path();
  for (const char* folder : {"", "../lib/warder"}) {
    const auto program = (here / folder / name).lexically_normal().string();
    ::execv(program.c_str(), argv);
  }
}

int become_administration(char** argv) {
  exec_beside(kProgram, argv);
  std::fprintf(stderr,
               "warder: the program warder-admin, which has this command, is neither beside %s nor in ../lib/warder\n",
               own_path().c_str());
  return kExitUnavailable;
}

Error explained(Error failed, const SocketPath& socket) {
  if (socket.source == SocketSource::requested && socket.path != kSystemSocket) return failed;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return failed;
  const Fd from(ends[0]);
  Fd to(ends[1]);
  std::string words[] = {"warder", "unreachable", "--bus", socket.source == SocketSource::user ? "session" : "system"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(to.get(), STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    exec_beside(kProgram, argv);
    ::_exit(127);
  }
  if (child < 0) return failed;
  to.reset();
  const std::string answer = read_answer(from.get());
  ::kill(child, SIGKILL);  // it has answered, or takes too long
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  const size_t line = answer.find('\n');
  if (line == answer.npos || !answer.ends_with('\n')) return failed;
  failed.what = answer.substr(0, line);
  failed.hint = answer.substr(line + 1, answer.size() - line - 2);
  return failed;
}

}  // namespace cli
