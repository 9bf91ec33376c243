// `warder unreachable`: prints why no warderd answers, and the remedy, each on a line. Not shown in --help: `warder
// run` starts it when it cannot connect, because `warder` itself does not speak D-Bus. Prints nothing if systemd does
// not know, and starts no daemon.
#include <cstdio>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/daemon_state.h"

namespace admin {

Result<int> explain_unreachable(const ParsedCommand& command) {
  if (const auto error = why_unreachable(command.bus.empty() ? "system" : command.bus))
    std::printf("%s\n%s\n", error->what.c_str(), error->hint.c_str());
  return 0;
}
const ProgramOfCommand kExplainUnreachable{"unreachable", explain_unreachable};

}  // namespace admin
