#include "jail/receipt.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <nlohmann/json.hpp>

namespace jail {
namespace {

// Ours do not change once we serve.
const std::array<uint32_t, kNamespaceCount>& own_namespaces() {
  static const auto own = [] {
    std::array<uint32_t, kNamespaceCount> found{};
    for (int i = 0; i < kNamespaceCount; i++) {
      struct stat info {};
      if (::stat(fmt::format("/proc/self/ns/{}", kNamespaces[i]).c_str(), &info) == 0)
        found[static_cast<size_t>(i)] = static_cast<uint32_t>(info.st_ino);
    }
    return found;
  }();
  return own;
}

}  // namespace

nlohmann::ordered_json make_receipt(const Host& host, const Jail& jail, const Request& request, const Origin& origin,
                                    uint64_t memory_held) {
  using json = nlohmann::ordered_json;
  const Spec& spec = request.spec;
  json receipt;
  json weaker = json::array();

  json fresh = json::array();
  for (int i = 0; i < kNamespaceCount; i++) {
    uint32_t theirs = jail.built().namespaces[i];
    if (theirs != 0 && theirs != own_namespaces()[static_cast<size_t>(i)])
      fresh.push_back(i == 2 ? "mount" : kNamespaces[i]);
  }
  receipt["namespaces"] = std::move(fresh);
  auto ids = jail.ids();
  if (ids.identity == Identity::separated) {
    receipt["identity"] = {{"init", ids.init}, {"runner", ids.runner}, {"daemon", host.daemon_uid}};
    if (ids.runner == host.daemon_uid)
      weaker.push_back(fmt::format(
          "the runner shares the daemon's host id, because the workspace cannot be mounted with mapped ids: {}",
          host.no_idmap_why));
  } else {
    receipt["identity"] = {{"shared", ids.init}};
    weaker.push_back(
        "one host id for init, runner and daemon (the daemon runs unprivileged); the runner is in a nested user "
        "namespace");
  }
  receipt["capabilities"] = "none";
  receipt["no_new_privileges"] = true;
  receipt["seccomp"] = {{"profile", request.seccomp_profile}, {"instructions", spec.filter->program.size()}};
  if (int abi = jail.built().landlock_abi; abi > 0) {
    receipt["landlock"] = {{"abi", abi}};
  } else {
    receipt["landlock"] = false;
    weaker.push_back("the kernel has no Landlock");
  }
  receipt["root"] = host.root == RootMode::overlay ? "overlay" : "bind";
  if (host.root == RootMode::bind)
    weaker.push_back(fmt::format(
        "read-only bind mounts instead of an overlay: file locks and inotify on shared files reach other jails ({})",
        host.bind_root_why));
  if (host.cgroups) {
    receipt["cgroup"] = {{"memory_max", spec.limits.memory_bytes},
                         {"swap_max", 0},
                         {"oom_group", true},
                         {"pids_max", spec.limits.tasks + 1},
                         {"cpus", spec.limits.cpus}};
    if (memory_held > 0) receipt["cgroup"]["memory_held"] = memory_held;
  } else {
    receipt["cgroup"] = false;
    weaker.push_back(
        fmt::format("no cgroup limits, process limits and a memory watch stand in: {}", host.no_cgroups_why));
  }
  receipt["workspace"] = {
      {"nosuid", true}, {"nodev", true}, {"mapped_ids", host.map_workspace_ids && ids.identity == Identity::separated}};
  // Counted while the program runs, besides the kernel's project or instead.
  if (request.over_quota)
    receipt["workspace"]["quota"] = request.quota == Request::Quota::project ? "project" : "accounting";
  receipt["network"] = "none";
  if (request.session_call > 0) {
    receipt["session"] = {{"call", request.session_call}, {"between_calls", host.cgroups ? "frozen" : "watched"}};
    if (!host.cgroups)
      weaker.push_back("what a session leaves running is watched between calls, not stopped: no cgroup");
  }
  if (!request.trace.empty()) receipt["traceparent"] = request.trace;
  receipt["weaker"] = std::move(weaker);
  receipt["start"] = start_name(origin.start);
  if (origin.start != Start::cold) receipt["waited_ms"] = origin.waited_ms;
  if (origin.start == Start::fork) receipt["zygote_age_ms"] = origin.zygote_age_ms;
  receipt["build_ms"] = jail.build_ms();
  json steps;
  for (int i = 1; i < kSteps; i++) {
    if (uint32_t us = jail.built().step_us[i]) steps[step_name(static_cast<Step>(i))] = us;
  }
  receipt["steps_us"] = std::move(steps);
  return receipt;
}

}  // namespace jail
