// The commands that look after a daemon and its machine. They are another program's, warder-admin: this one is static.
#pragma once
#include <string_view>

namespace cli {

// Whether `command` is one of them.
bool is_administration(std::string_view command);
// Becomes warder-admin, from beside this program or where an installation puts it. Returns the exit status for when
// there is none.
int become_administration(char** argv);

}  // namespace cli
