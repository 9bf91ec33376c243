// The jailer: the small privileged process beside the daemon. It is forked before the daemon gives its privileges up.
// It reads orders (jail/orders.h) and does what needs privileges: it clones a jail, maps ids, attaches a workspace,
// limits a project on disk. It trusts no order: each one is judged first (jail/order_check.h). It has one thread, it
// blocks, it parses no text of clients, and its memory grows only with the number of living jails.
// Used by: supervisor/main.cc.
#pragma once
#include <cstdint>
#include <vector>

#include "jail/id_range.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

// What the jailer needs to work and to judge orders (jail/order_check.h).
struct JailerConfig {
  Fd template_dir;          // jail/template.h; becomes the working directory
  Fd init;                  // warder-jail-init
  bool privileged = false;  // started as root: keeps only the needed capabilities, and uses `ids`
  IdRange ids;
  uint32_t daemon_uid = 0, daemon_gid = 0;  // ids of the daemon after it drops root; its group may write its cgroups
  std::vector<Fd> workspace_parents;        // O_PATH; all workspaces are below them. Only root may rename them
  std::vector<Fd> single_folders;  // O_PATH; may be mounted as they are, for servers that the configuration names
  Fd jails_cgroup;                 // CgroupTree::jails(); empty: no cgroups
};

// Forks the jailer and returns the daemon's end of its socket (jail/orders.h). The jailer serves until that end closes;
// every jail dies with the jailer. Call it before the loop exists, while the process has one thread.
Result<Fd> fork_jailer(JailerConfig config);

}  // namespace jail
