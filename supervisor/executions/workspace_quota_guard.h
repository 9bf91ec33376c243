// QuotaHold: enforces the quota of a workspace around one execution. A program that writes too much is ended. Files
// written between two counts are judged at the program's end.
// A program may run in a workspace that is over its quota, to delete files. Then its files are limited to 1 byte
// (shell: to the size of its own code), and the workspace may not grow beyond its size at the start. No program runs if
// the workspace has more than twice the allowed files, or cannot be counted. On a file system with project quotas the
// kernel enforces its own limit, too (tenants/project.h).
// Used by: execute_code.cc. Errors: exhausted, with the rule, the numbers and the remedy.
#pragma once
#include <optional>

#include "jail/execution.h"
#include "supervisor/tenants/workspace.h"

namespace executions {

struct QuotaHold {
  enum class Room { enough, cut, none };
  Room room = Room::enough;
  uint64_t file_bytes = 0;    // RLIMIT_FSIZE; less than the policy's limit if the room is `cut` or `none`
  tenants::QuotaLimits most;  // during the execution: the quota, or the usage at the start if it is higher
  bool over = false;          // set by hold_quota()
};

// Counts the workspace if it changed since the last count. `file_bytes`: the policy's limit of one file. If less space
// is left, the limit becomes the free space plus the size of the largest file, so that a program can append to that
// file; but at least 1 MiB, for files in /tmp. The workspace must outlive the task.
Task<Result<QuotaHold>> admit_to(tenants::Workspace& workspace, uint64_t file_bytes);

// Counts the workspace every 100 ms or more until the task is destroyed, and sets `hold.over` when it is over `most`.
// All arguments must outlive the task.
Task<> hold_quota(Loop& loop, tenants::Workspace& workspace, QuotaHold& hold);

// Called at the execution's end; uses the last count. Changes the outcome `ok` to `disk` if the workspace is over
// `hold.most`. Returns the error to show with the outcome `disk`; nullopt: the quota did not cause the outcome.
std::optional<Error> judge_quota(const tenants::Quota& quota, const QuotaHold& hold, jail::Report& report);

}  // namespace executions
