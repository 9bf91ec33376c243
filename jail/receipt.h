// Receipt: the isolation and limits really applied to one jail, for _meta["org.warder/receipt"] of the answer. Never
// what was asked for.
// Source: the facts recorded when the jail was built (applied.h), the execution's limits, the host's facts. Used by:
// jail/execution.cc.
#pragma once
#include <string>

#include "jail/execution.h"

namespace jail {

// Begins the receipt: a JSON object without its last brace. `memory_held`: bytes that a waiting jail held when the
// execution began. Keys: namespaces, identity, capabilities, no_new_privileges, seccomp, landlock, root, cgroup,
// workspace (quota: project, if the kernel refuses bytes beyond it, or accounting), network, session (number of the
// call), traceparent (as the program gets it), weaker (what a stronger host would add), start (cold, exec or fork),
// waited_ms, zygote_age_ms, steps_us, and path_us: the parts of the execution's time, which jail/execution.cc adds.
// cgroup.memory_held is what a waiting jail held: memory.max is the sum of it and memory_max.
std::string begin_receipt(const Host& host, Jail& jail, const Request& request, const Origin& origin,
                          uint64_t memory_held);

}  // namespace jail
