#include "supervisor/daemon/jail_host.h"

#include "jail/execution/self_test.h"
#include "policies/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/base/project_quota.h"

Result<std::unique_ptr<JailHost>> JailHost::start(Loop& loop, Prepared& prepared, std::function<void()> lost) {
  TRY(auto jailer, jail::JailerClient::start(loop, std::move(prepared.jailer), std::move(lost)));
  return std::unique_ptr<JailHost>(new JailHost(loop, prepared, std::move(jailer)));
}

JailHost::JailHost(Loop& loop, Prepared& prepared, std::unique_ptr<jail::JailerClient> jailer)
    : jailer_(std::move(jailer)),
      host_{.loop = loop,
            .jailer = *jailer_,
            .cgroups = prepared.cgroups ? &*prepared.cgroups : nullptr,
            .no_cgroups_why = prepared.no_cgroups_why,
            .identity = prepared.identity.root ? jail::Identity::separated : jail::Identity::shared,
            .ids = prepared.ids,
            .daemon_uid = prepared.identity.uid,
            .daemon_gid = prepared.identity.gid,
            .has_project_quotas = prepared.self_test && project_quota_enforced(prepared.self_test.get())},
      self_test_(prepared.self_test.get()) {}

Task<Result<>> JailHost::test(const policies::Policy& policy) {
  CO_CHECKED(co_await jail::test_host(host_, self_test_, policy.filter, policy.limits.standard));
  log_info("jails: {} ids, {} root, Landlock ABI {}, cgroups {}, mapped workspace ids {}, network {}",
           host_.identity == jail::Identity::separated ? "separated" : "shared",
           host_.root == jail::RootMode::overlay ? "overlay" : "bind", host_.landlock_abi,
           host_.cgroups ? host_.cgroups->path() : "none (" + host_.no_cgroups_why + ")",
           host_.map_workspace_ids ? "yes" : "no (" + host_.no_idmap_why + ")",
           host_.network_seen.empty() ? "not seen (" + host_.network_unseen_why + ")" : host_.network_seen);
  co_return Result<>{};
}
