#include "supervisor/programs/cli/servers/started_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace admin {

Result<> run_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ); error != 0)
    return fail_errno(error, "run " + text, Code::unavailable);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail_errno(errno, "wait for " + text);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(Code::unavailable, WIFEXITED(status) ? fmt::format("{} ended with status {}", text, WEXITSTATUS(status))
                                                   : fmt::format("{} was ended by signal {}", text, WTERMSIG(status)));
}

}  // namespace admin
