#include "jail/applied.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "jail/jail.h"

namespace jail {
namespace {

// The daemon's own namespaces. They do not change once the daemon serves.
const std::array<uint32_t, kNamespaceCount>& daemons_namespaces() {
  static const auto own = [] {
    std::array<uint32_t, kNamespaceCount> counts{};
    for (int i = 0; i < kNamespaceCount; i++) {
      struct stat info {};
      if (::stat(fmt::format("/proc/self/ns/{}", kNamespaces[i]).c_str(), &info) == 0)
        counts[static_cast<size_t>(i)] = static_cast<uint32_t>(info.st_ino);
    }
    return counts;
  }();
  return own;
}

}  // namespace

Applied applied_to(const Host& host, const Jail& jail) {
  const InitReport& built = jail.built();
  const auto ids = jail.ids();
  Applied applied;
  applied.identity = ids.identity;
  applied.init_id = ids.init;
  applied.runner_id = ids.runner;
  applied.daemon_id = host.daemon_uid;
  applied.landlock_abi = built.landlock_abi;
  applied.root = host.root;
  applied.proc = built.proc;
  for (const auto& layer : jail.layers()) applied.layers.emplace_back(layer->name, layer->hash);
  applied.build_ms = jail.build_ms();
  std::copy(std::begin(built.step_us), std::end(built.step_us), applied.steps_us.begin());
  for (size_t i = 0; i < applied.own_namespaces.size(); i++)
    applied.own_namespaces[i] = built.namespaces[i] != 0 && built.namespaces[i] != daemons_namespaces()[i];

  auto& weaker = applied.weaker;
  if (ids.identity == Identity::shared) {
    weaker.emplace_back(
        "one host id for init, runner and daemon (the daemon runs unprivileged); the runner is in a nested user "
        "namespace");
  } else if (ids.runner == host.daemon_uid) {
    weaker.push_back(fmt::format(
        "the runner shares the daemon's host id, because the workspace cannot be mounted with mapped ids: {}",
        host.no_idmap_why));
  }
  if (built.landlock_abi <= 0) weaker.emplace_back("the kernel has no Landlock");
  if (host.root == RootMode::bind)
    weaker.push_back(
        fmt::format("read-only bind mounts instead of an overlay: file locks and inotify on shared files reach other "
                    "jails ({})",
                    host.bind_root_why));
  if (!host.cgroups)
    weaker.push_back(
        fmt::format("no cgroup limits; process limits and a memory watch replace them: {}", host.no_cgroups_why));
  return applied;
}

}  // namespace jail
