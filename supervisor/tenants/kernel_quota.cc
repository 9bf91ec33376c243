#include "supervisor/tenants/kernel_quota.h"

#include <fcntl.h>

#include "supervisor/base/log.h"
#include "supervisor/tenants/project.h"

Task<> hold_quota_by_kernel(jail::JailerClient& jailer, std::shared_ptr<tenants::Tenant> tenant) {
  const auto limits = tenant->workspace().quota().limits();
  if (!tenant->project() || tenant->held_by_kernel() == limits) co_return;
  const auto walls = tenants::wall_behind(limits);
  Result<> set;
  if (auto directory = open_beneath(tenant->workspace().directory(), RelativePath(), O_RDONLY | O_DIRECTORY)) {
    set = co_await jailer.limit_project(directory->get(), *tenant->project(), walls);
  } else {
    set = tl::unexpected<Error>(std::move(directory).error());
  }
  if (!set) {
    const bool is_enforced = tenant->held_by_kernel().has_value();  // the kernel still has the earlier limits
    log_warning("tenant {}: {}: {}", tenant->name(),
                is_enforced ? "the kernel enforces the former quota" : "only Warder's own count enforces the quota",
                set.error().what);
    if (!is_enforced) tenant->leave_project();
    co_return;
  }
  tenant->set_held_by_kernel(limits);
}
