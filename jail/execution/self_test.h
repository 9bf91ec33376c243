// Self-test: finds out what this host gives to jails, then proves it with a probe inside of a jail (jail/guest/probe).
// Used by: supervisor/daemon, at the start and at a reload. If the jails do not hold, the daemon serves without
// executions (Host::unfit).
#pragma once
#include <memory>

#include "policies/limits.h"
#include "policies/policy_fwd.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace jail {

struct Host;

// Fills host.root, host.landlock_abi, host.network_seen and host.map_workspace_ids by trials, then runs the probe in a
// whole jail. `directory`: an empty directory of the state's file system, owned by the daemon. `filter`: the standard
// policy's. Errors: denied, listing the guarantees that do not hold; unavailable, naming the step that no jail gets
// past.
Task<Result<>> test_host(Host& host, int directory, const std::shared_ptr<const policies::SeccompFilter>& filter,
                         const policies::Limits& limits);

// Proves that a jail's network namespace holds lo and nothing else; a step of test_host(). `netlink`: from
// Jail::take_network_socket(). Fills host.network_seen, or host.network_unseen_why where the machine does not show it.
// Errors: denied, naming what else is there.
Result<> check_network(Host& host, Result<Fd> netlink);

}  // namespace jail
