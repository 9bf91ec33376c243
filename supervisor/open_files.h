// Open files: how many this process, and so each of its jails, may have (RLIMIT_NOFILE, getrlimit(2)). The soft limit
// is raised to the hard one, which belongs to whoever starts the daemon: it is never raised.
#pragma once
#include <string>

#include "policies/store.h"
#include "supervisor/base/result.h"

// A sentence about what the limit costs; empty where it is enough for all. Errors: unavailable, naming the limit, what
// is needed and the remedy, where no daemon can do with it; and those of check_open_files().
Result<std::string> raise_open_files(const policies::Store& policies);
// Errors: unavailable, naming limit, policy and remedy, where a policy gives programs more than this process may have.
Result<> check_open_files(const policies::Store& policies);
