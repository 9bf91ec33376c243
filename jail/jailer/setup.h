// JailerSetup: the message of the daemon to the jailer before the daemon drops its privileges.
// Source: JailerStart and JailerFolder (jail/jailer_message.h). Used by: jail/jailer/main.cc, jail/jailer/jailer.h.
#pragma once
#include <cstdint>
#include <vector>

#include "jail/id_range.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct JailerSetup {  // the fields are those of JailerConfig (jail/jailer_client/jailer_start.h)
  Fd template_dir, init;
  Fd jails_cgroup;  // empty: no cgroups
  std::vector<Fd> workspace_parents, single_folders;
  IdRange ids;
  uint32_t daemon_uid = 0, daemon_gid = 0;
  bool privileged = false;
  bool for_journal = false;  // see JailerLog
};

// Waits for all messages. Errors: invalid or internal, naming the part that is wrong.
Result<JailerSetup> receive_setup(int socket);

}  // namespace jail
