// Receipt: what was really applied to one jail, for _meta["org.warder/receipt"] of the answer. Never what was asked.
// Source: what was applied when it was built (applied.h), the cgroup's files, the host's facts.
#pragma once
#include <string>

#include "jail/execution.h"

namespace jail {

// `memory_held`: what a waiting jail held when the execution began, in bytes. Keys: namespaces, identity, capabilities,
// no_new_privileges, seccomp, landlock, root, cgroup, workspace (quota: project, where the kernel refuses what is too
// much, or accounting), network, session (which call of it), traceparent (as the program has it), weaker (what a
// stronger host would add), start (cold, exec or fork; cgroup.memory_held is what a waiting jail held: memory.max is
// the sum of it and memory_max; waited_ms, zygote_age_ms), steps_us, and path_us: the parts of the execution's way,
// which jail/execution.cc adds. A JSON object without its last brace.
std::string begin_receipt(const Host& host, Jail& jail, const Request& request, const Origin& origin,
                          uint64_t memory_held);

}  // namespace jail
