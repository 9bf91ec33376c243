// Open files: the limit of open files of this process, and so of each of its jails (RLIMIT_NOFILE, getrlimit(2)). The
// soft limit is raised to the hard limit. The hard limit is never raised: the unit or the user that starts the daemon
// sets it. Used by: main.cc, configuration_reader.h.
#pragma once
#include <string>

#include "policies/store.h"
#include "supervisor/base/result.h"

// Returns a warning with the number of executions that the limit allows; empty where the limit is high enough. Errors:
// unavailable, naming the limit, the least that a daemon needs (256) and the remedy; and those of check_open_files().
Result<std::string> raise_open_files(const policies::Store& policies);
// Errors: unavailable, naming limit, policy and remedy, where a policy gives programs more than this process may have.
Result<> check_open_files(const policies::Store& policies);
