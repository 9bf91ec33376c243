#include "jail/receipt.h"

#include <fmt/format.h>

#include "supervisor/base/json.h"

namespace jail {
namespace {

std::string in_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

std::string begin_receipt(const Host& host, Jail& jail, const Request& request, const Origin& origin,
                          uint64_t memory_held) {
  const Spec& spec = request.spec;
  const Applied& applied = jail.applied();
  std::string weaker = applied.weaker;
  std::string receipt = '{' + applied.members;
  auto add = [&receipt](fmt::string_view format, auto&&... values) {
    fmt::format_to(std::back_inserter(receipt), fmt::runtime(format), values...);
  };
  add(R"(,"seccomp":{{"profile":{},"instructions":{}}})", in_json(request.seccomp_profile),
      spec.filter->program.size());
  if (host.cgroups) {
    add(R"(,"cgroup":{{"memory_max":{},"swap_max":0,"oom_group":true,"pids_max":{},"cpus":{})",
        spec.limits.memory_bytes, spec.limits.tasks + 1, spec.limits.cpus);
    if (memory_held > 0) add(R"(,"memory_held":{})", memory_held);
    receipt += '}';
  } else {
    receipt += R"(,"cgroup":false)";
  }
  add(R"(,"workspace":{{"nosuid":true,"nodev":true,"mapped_ids":{})",
      host.map_workspace_ids && jail.ids().identity == Identity::separated);
  // The daemon counts the workspace's bytes while the program runs: beside the kernel's project limit, or instead of
  // it.
  if (request.over_quota) add(R"(,"quota":"{}")", request.quota == Request::Quota::project ? "project" : "accounting");
  receipt += '}';
  if (request.session_call > 0) {
    add(R"(,"session":{{"call":{},"between_calls":"{}"}})", request.session_call, host.cgroups ? "frozen" : "watched");
    if (!host.cgroups)
      add_weaker(
          weaker,
          "without a cgroup, processes that a session leaves running are watched between calls, but not stopped");
  }
  if (!request.trace.empty()) add(R"(,"traceparent":{})", in_json(request.trace));
  add(R"(,"weaker":[{}],"start":"{}")", weaker, start_name(origin.start));
  if (origin.start != Start::cold) add(R"(,"waited_ms":{:.3f})", origin.waited_ms);
  if (origin.start == Start::fork) add(R"(,"zygote_age_ms":{:.3f})", origin.zygote_age_ms);
  return receipt;
}

}  // namespace jail
