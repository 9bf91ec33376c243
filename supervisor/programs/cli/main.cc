// warder: the command-line program. Clients start `warder mcp` once per agent session and wait for it, so main() starts
// the proxy without parsing a command line. arguments.cc runs the other commands.
#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "supervisor/programs/cli/administration.h"
#include "supervisor/programs/cli/arguments.h"
#include "supervisor/programs/cli/stdio_proxy.h"

namespace {

// Opens /dev/null for each closed standard stream: otherwise the next descriptor would get its number.
void fill_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "mcp" && argc == 2) return cli::run_stdio_proxy(cli::find_socket({}));
  if (command == "mcp" && argc == 4 && std::string_view(argv[2]) == "--socket")
    return cli::run_stdio_proxy(cli::find_socket(argv[3]));
  if (cli::is_administration(command)) return cli::become_administration(argv);
  return cli::run_command_line(argc, argv);
}
