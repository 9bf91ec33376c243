// check(): the configuration as a start would find it, without a start: the files, then a trial (trial.h).
// Used by: `warderd --check`, `warder config check`. Makes no change. Waits for disks, names of users, and at most a
// second for systemd.
#pragma once
#include "supervisor/daemon/configuration/load.h"

namespace configuration {

// A running daemon's own addresses are not in use by another. For the service's configuration, the sandbox of its unit
// counts, too. A warning says what this process could not try.
LoadedConfiguration check(const Invocation& invocation);

}  // namespace configuration
