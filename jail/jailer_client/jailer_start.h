// Starts the jailer, the small privileged process beside the daemon (jail/jailer/), before the daemon gives its
// privileges up. The jailer is a program of its own, warder-jailer, so that a process with capabilities has neither the
// code nor the memory of the daemon.
// Used by: supervisor/main.cc, tests/jail/jail_fixture.cc.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jail/id_range.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

// What the jailer needs to work and to judge orders (jail/jailer/order_check.h).
struct JailerConfig {
  Fd program;               // warder-jailer
  Fd template_dir;          // jail/template.h; becomes the working directory
  Fd init;                  // warder-jail-init
  bool privileged = false;  // started as root: `ids` count, and the jailer changes its group
  IdRange ids;
  uint32_t daemon_uid = 0, daemon_gid = 0;  // ids of the daemon after it drops root; its group may write its cgroups
  std::vector<Fd> workspace_parents;        // O_PATH; all workspaces are below them. Only root may rename them
  std::vector<Fd> single_folders;  // O_PATH; may be mounted as they are, for servers that the configuration names
  Fd jails_cgroup;                 // CgroupTree::jails(); empty: no cgroups
};

// Opens the program warder-jailer. Errors: unavailable, naming the file.
Result<Fd> open_jailer(const std::string& program);
// Starts the jailer and returns the daemon's end of its socket (jail/orders.h). The jailer serves until that end
// closes; every jail dies with the jailer. Call it before the loop exists, while the process has one thread, which
// gets a short slice (slice.h). Errors: unavailable, when the kernel does not execute the program; invalid, when there
// are more than kMaxJailerFolders folders.
Result<Fd> start_jailer(JailerConfig config);

}  // namespace jail
