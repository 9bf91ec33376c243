// Administration: the commands of `warder` that manage a daemon and its machine. They run in another program,
// warder-admin, because `warder` is linked statically. Used by: main.cc, arguments.cc.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/socket.h"

namespace cli {

// Whether warder-admin runs all commands that begin with the word `command`.
bool is_administration(std::string_view command);
// Replaces this process by the program `name` from this program's folder or from ../lib/warder. Returns only if neither
// can be started.
void exec_beside(const std::string& name, char** argv);
// Replaces this process by warder-admin, from this program's folder or from the installation. Returns only if
// warder-admin cannot be started: the exit status for that.
int become_administration(char** argv);
// A failed connect with the cause and the remedy that systemd knows, for sockets of the installed service: asks
// warder-admin, for at most 3 s. Unchanged if it has no answer.
Error explained(Error failed, const SocketPath& socket);

}  // namespace cli
