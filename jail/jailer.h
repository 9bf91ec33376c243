// The jailer: the small privileged process beside the daemon. Forked before the daemon gives its privileges up,
// it reads orders (jail/orders.h) and does the three things that need power: clone a jail, map ids, attach a
// workspace. One thread, blocking, no parsing, no memory that grows.
#pragma once
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct JailerConfig {
  Fd template_dir;          // jail/template.h; becomes the working directory
  Fd init;                  // warder-jail-init
  bool privileged = false;  // started as root: keeps only the capabilities it needs
  unsigned group = 0;       // privileged: the daemon's group, which may write its cgroups
};

// Forks the jailer and returns the daemon's end of its socket (jail/orders.h). The jailer serves until that end
// closes; every jail dies with it. Call it single-threaded, before the loop exists.
Result<Fd> fork_jailer(JailerConfig config);

}  // namespace jail
