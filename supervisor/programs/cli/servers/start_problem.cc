#include "supervisor/programs/cli/servers/start_problem.h"

namespace admin {
namespace {

struct KnownProblem {
  std::string_view sign, remedy;  // the first sign in the message decides
};
constexpr KnownProblem kKnownProblems[] = {
    {"its folder did not exist when the daemon started",
     "systemctl restart warder: a new --folder needs a restart; or copy it: warder servers install FOLDER"},
    {"the secret", "the daemon's user reads the file: chgrp warder FILE, chmod 640 FILE"},
    {"Permission denied",
     "the daemon's user and its jails must be able to read and run the program: ls -l shows the rights"},
    {"Cannot find module", "a jail shows only /usr of this machine: warder servers install npm:PACKAGE or FOLDER"},
    {"can't open file", "a jail shows only /usr of this machine: warder servers install FOLDER"},
    {"not found",
     "a jail shows only /usr of this machine: install the program there, or warder servers install SOURCE"},
    {"No such file",
     "a jail shows only /usr of this machine: install the program there, or warder servers install SOURCE"},
    {"EAI_AGAIN",
     "a jail has no network: warder servers install npm:PACKAGE, or --no-jail and a network for the service"},
    {"ENOTFOUND",
     "a jail has no network: warder servers install npm:PACKAGE, or --no-jail and a network for the service"},
    {"getaddrinfo", "a jail has no network; use --no-jail and a network for the service (units/README.md)"},
    {"is not known", "the service has no network: warder servers add NAME URL --replace --open-network"},
    {"Network is unreachable", "the service has no network: warder servers add NAME URL --replace --open-network"},
    {"Read-only file system", "a jail is read-only but for /workspace: give the server paths below /workspace"},
    {"EROFS", "a jail is read-only but for /workspace: give the server paths below /workspace"},
    {"Failed to connect",
     "no server listens there; or the service has no network: warder servers add NAME URL --replace --open-network"},
    {"ended with status",
     "a server speaks MCP on its standard input and output until its input ends: try the command by hand"},
    {"did not answer", "raise \"start_s\" of the server, or see its log: journalctl -u warder"},
};

}  // namespace

std::string start_remedy(std::string_view problem, std::string_view path) {
  for (const auto& existing : kKnownProblems) {
    if (existing.remedy.starts_with("a jail ") && path != "jail") continue;
    if (problem.find(existing.sign) != problem.npos) return std::string(existing.remedy);
  }
  return {};
}

}  // namespace admin
