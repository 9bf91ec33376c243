// complete_interrupted_commits(): completes the commits and undos of an earlier daemon that was killed. Call it before
// clients are served: in between, a workspace is partly old and partly new, and every tool, program and export would
// see that, also under a policy that stages no workspace any longer.
// Source: tenants/<name>/staging/<id>/journal.N, and the same below tenants/<name>/workspaces/<workspace>. Used by:
// supervisor/daemon/daemon_parts.cc. Works on the calling thread and waits for the disk; of a journal that is at its
// end it reads the first line only. Errors: those of base/path.h, the folder of tenants cannot be read.
#pragma once
#include <cstdint>
#include <vector>

#include "supervisor/tenants/proposals/commit.h"

namespace proposals {

struct InterruptedCommits {
  uint64_t completed = 0;
  std::vector<Error> failed;  // one for each proposal that stays as it is; its store tries again
};

// `tenants`: the folder of all tenants.
Result<InterruptedCommits> complete_interrupted_commits(int tenants, const CommitHooks& hooks = {});

}  // namespace proposals
