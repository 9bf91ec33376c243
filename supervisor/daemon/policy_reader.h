// read_policies(): reads the policy files again while the daemon serves: on another thread, because a changed profile
// of system calls is compiled for a tenth of a second and more, and names of users may come over a network.
// Used by: reload.cc, self_examination.cc.
#pragma once
#include "policies/store.h"
#include "supervisor/base/task.h"
#include "supervisor/base/worker_thread.h"

// Reads the folders of `current` again; `current` does not change, and the task has a copy of it. The warnings of the
// files are logged. All calls must use the same `thread`: libseccomp, getpwnam(3) and getgrnam(3) are not made for two
// threads at once, and the loop's thread uses them only before it serves. Errors: those of policies::Store::load(), and
// those of check_open_files().
Task<Result<policies::Store>> read_policies(WorkerThread& thread, const policies::Store& current);
