#include "jail/applied.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "jail/jail.h"
#include "supervisor/base/json.h"

namespace jail {
namespace {

// The daemon's own namespaces. They do not change once the daemon serves.
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

std::string fresh_namespaces(const InitReport& built) {
  std::string names;
  for (int i = 0; i < kNamespaceCount; i++) {
    const uint32_t theirs = built.namespaces[i];
    if (theirs == 0 || theirs == own_namespaces()[static_cast<size_t>(i)]) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ",", i == 2 ? "mount" : kNamespaces[i]);
  }
  return names;
}

std::string steps(const InitReport& built) {
  std::string list;
  for (int i = 1; i < kSteps; i++) {
    if (const uint32_t us = built.step_us[i])
      list += fmt::format("{}\"{}\":{}", list.empty() ? "" : ",", step_name(static_cast<Step>(i)), us);
  }
  return list;
}

}  // namespace

void add_weaker(std::string& list, const std::string& text) {
  if (!list.empty()) list += ',';
  append_json_string(list, text);
}

Applied applied_to(const Host& host, const Jail& jail) {
  Applied applied;
  const InitReport& built = jail.built();
  const auto ids = jail.ids();
  std::string identity;
  if (ids.identity == Identity::separated) {
    identity = fmt::format(R"("init":{},"runner":{},"daemon":{})", ids.init, ids.runner, host.daemon_uid);
    if (ids.runner == host.daemon_uid)
      add_weaker(applied.weaker,
                 fmt::format("the runner shares the daemon's host id, because the workspace cannot be mounted with "
                             "mapped ids: {}",
                             host.no_idmap_why));
  } else {
    identity = fmt::format(R"("shared":{})", ids.init);
    add_weaker(applied.weaker,
               "one host id for init, runner and daemon (the daemon runs unprivileged); the runner is in a nested user "
               "namespace");
  }
  std::string landlock = "false";
  if (built.landlock_abi > 0) {
    landlock = fmt::format(R"({{"abi":{}}})", built.landlock_abi);
  } else {
    add_weaker(applied.weaker, "the kernel has no Landlock");
  }
  if (host.root == RootMode::bind)
    add_weaker(applied.weaker,
               fmt::format("read-only bind mounts instead of an overlay: file locks and inotify on shared files reach "
                           "other jails ({})",
                           host.bind_root_why));
  if (!host.cgroups)
    add_weaker(applied.weaker, fmt::format("no cgroup limits; process limits and a memory watch replace them: {}",
                                           host.no_cgroups_why));
  applied.members = fmt::format(
      R"("namespaces":[{}],"identity":{{{}}},"capabilities":"none","no_new_privileges":true,"landlock":{},"root":"{}",)"
      R"("network":"none","build_ms":{:.3f},"steps_us":{{{}}})",
      fresh_namespaces(built), identity, landlock, host.root == RootMode::overlay ? "overlay" : "bind", jail.build_ms(),
      steps(built));
  return applied;
}

}  // namespace jail
