// The account of a workspace around an execution in it. The program is ended when it writes too much, and what it wrote
// between two looks is judged at its end. In a workspace that is over its quota already programs may make room: they
// can write no byte more (shell no more than its own code has), and are held to what there was. Where there is more
// than twice as many files as allowed, or it cannot be counted, nothing runs until somebody deletes. The kernel's
// project quota, where there is one, binds as well (tenants/project.h). Applied by: execute_code.cc. Errors: exhausted,
// with the rule, the numbers and the remedy.
#pragma once
#include <optional>

#include "jail/execution.h"
#include "supervisor/tenants/workspace.h"

namespace executions {

struct QuotaHold {
  enum class Room { enough, cut, none };
  Room room = Room::enough;
  uint64_t file_bytes = 0;  // the limit of one file: less than the policy's where the room is `cut` or `none`
  tenants::QuotaLimits most;
  bool over = false;  // set by hold_quota()
};

// Counts first what was not counted since somebody wrote. `file_bytes`: the policy's limit of one file; where less is
// left it is cut to what lets a program write on in the largest file that is there, and a little for /tmp. The
// workspace outlives the task.
Task<Result<QuotaHold>> admit_to(tenants::Workspace& workspace, uint64_t file_bytes);

// Counts again and again until it is destroyed. All outlive the task.
Task<> hold_quota(Loop& loop, tenants::Workspace& workspace, QuotaHold& hold);

// At the end, with the workspace as it was last counted: a report of success becomes one of `disk` when there is more
// than may be. What to say for that outcome; nothing: the quota had no part in it.
std::optional<Error> judge_quota(const tenants::Quota& quota, const QuotaHold& hold, jail::Report& report);

}  // namespace executions
