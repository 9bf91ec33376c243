#include "jail/execution/receipt.h"

#include "jail/execution/execution.h"
#include "jail/host.h"
#include "jail/jail.h"
#include "policies/seccomp.h"

namespace jail {

void record_dispatch(Receipt& receipt, const Host& host, Jail& jail, const Request& request, const Origin& origin,
                     uint64_t memory_held) {
  const Spec& spec = request.spec;
  receipt.applied = jail.applied();
  receipt.seccomp_profile = request.seccomp_profile;
  receipt.seccomp_instructions = spec.filter->program.size();
  if (host.cgroups)
    receipt.cgroup = CgroupReceipt{spec.limits.memory_bytes, memory_held, spec.limits.tasks + 1, spec.limits.cpus};
  receipt.workspace_mapped_ids = host.map_workspace_ids && jail.ids().identity == Identity::separated;
  // The daemon counts the workspace's bytes while the program runs: beside the kernel's project limit, or instead of
  // it.
  if (request.over_quota) receipt.workspace_quota = request.quota == Request::Quota::project ? "project" : "accounting";
  receipt.workspace_access = request.workspace.access;
  receipt.has_proxy = static_cast<bool>(jail.listener());
  receipt.session_call = request.session_call;
  if (request.session_call > 0 && !host.cgroups)
    receipt.applied.weaker.emplace_back(
        "without a cgroup, processes that a session leaves running are watched between calls, but not stopped");
  receipt.traceparent = request.trace;
  receipt.origin = origin;
}

}  // namespace jail
