// Administration: the commands of `warder` that manage a daemon and its machine. They run in another program,
// warder-admin, because `warder` is linked statically. Used by: main.cc, arguments.cc.
#pragma once
#include <string_view>

namespace cli {

// Whether warder-admin runs all commands that begin with the word `command`.
bool is_administration(std::string_view command);
// Replaces this process by warder-admin, from this program's folder or from the installation. Returns only if
// warder-admin cannot be started: the exit status for that.
int become_administration(char** argv);

}  // namespace cli
