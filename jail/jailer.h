// The jailer: the small privileged process beside the daemon. Forked before the daemon gives its privileges up,
// it reads orders (jail/orders.h) and does the three things that need power: clone a jail, map ids, attach a
// workspace. It believes no order: each is judged first (jail/order_check.h). One thread, blocking, no parsing of what
// strangers wrote, no memory that grows beyond the jails that live.
#pragma once
#include <cstdint>
#include <vector>

#include "jail/id_range.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

// What it needs to judge orders (jail/order_check.h), besides what it works with.
struct JailerConfig {
  Fd template_dir;          // jail/template.h; becomes the working directory
  Fd init;                  // warder-jail-init
  bool privileged = false;  // started as root: keeps only the capabilities it needs, and uses `ids`
  IdRange ids;
  uint32_t daemon_uid = 0, daemon_gid = 0;  // what the daemon will be; its group may write its cgroups
  std::vector<Fd> workspace_parents;        // O_PATH: below them lie all workspaces. Nobody but root may rename them
  std::vector<Fd> single_folders;  // O_PATH: shown themselves, as those of servers that the configuration names
  Fd jails_cgroup;                 // CgroupTree::jails(); empty: there are no cgroups
};

// Forks the jailer and returns the daemon's end of its socket (jail/orders.h). The jailer serves until that end
// closes; every jail dies with it. Call it single-threaded, before the loop exists.
Result<Fd> fork_jailer(JailerConfig config);

}  // namespace jail
