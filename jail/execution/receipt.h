// Receipt: the isolation and limits really applied to one jail, for _meta["org.warder/receipt"] of the answer. Never
// what was asked for.
// Source: the facts recorded when the jail was built (applied.h), the execution's limits, the host's facts;
// jail/execution/running_execution.cc adds the path. Used by: jail/execution/running_execution.cc, and readers of a
// Report. No errors.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/applied.h"
#include "jail/spec.h"
#include "jail/workspace_mount.h"

namespace jail {

struct Host;
class Jail;
struct Request;

// The cgroup's limits, as they were set at dispatch.
struct CgroupReceipt {
  uint64_t memory_max_bytes = 0;   // of the program; memory.max is the sum of it and memory_held_bytes
  uint64_t memory_held_bytes = 0;  // that a waiting jail held when the execution began; 0: it did not wait
  uint64_t tasks_max = 0;          // with init
  double cpus = 0;
};

struct Receipt {
  Applied applied;  // Applied::weaker also has what the dispatch could not apply
  std::string seccomp_profile;
  size_t seccomp_instructions = 0;
  std::optional<CgroupReceipt> cgroup;  // empty: no cgroup
  bool workspace_mapped_ids = false;
  WorkspaceAccess workspace_access = WorkspaceAccess::direct;
  std::string_view workspace_quota;  // "project": the kernel refuses bytes beyond it; "accounting"; empty: no quota
  bool has_proxy = false;            // the code reaches hosts through the egress proxy
  uint32_t session_call = 0;         // number of the program in its session, from 1; 0: no session
  std::string traceparent;           // as the program gets it; empty: no trace
  Origin origin;
  // The parts of the execution's time, in their order. The names are constants; microseconds.
  std::vector<std::pair<const char*, uint32_t>> path_us;
};

// Records what the dispatch applied, and what was applied to the jail before. The path stays as it is.
// `memory_held`: CgroupReceipt::memory_held_bytes.
void record_dispatch(Receipt& receipt, const Host& host, Jail& jail, const Request& request, const Origin& origin,
                     uint64_t memory_held);

// The receipt as a JSON object, in the order of keys: namespaces, identity, capabilities, no_new_privileges, landlock,
// root, layers, network, build_ms, steps_us, seccomp, cgroup, workspace, session, traceparent, weaker, start (cold,
// exec or fork), waited_ms, zygote_age_ms, path_us. Pure.
std::string receipt_json(const Receipt& receipt);

}  // namespace jail
