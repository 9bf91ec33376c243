#include "supervisor/upstream/calls/disk_account.h"

#include <algorithm>
#include <utility>

#include "supervisor/tenants/quota.h"
#include "supervisor/tenants/tenant.h"

namespace calls {

jail::DiskAccount disk_account_of(std::shared_ptr<tenants::Tenant> tenant, std::string owner) {
  jail::DiskAccount account;
  account.owner = std::move(owner);
  account.named = [tenant] {
    const tenants::Usage& usage = tenant->workspace().quota().usage();
    return jail::DiskSize{usage.bytes, usage.files};
  };
  if (tenant->held_by_kernel()) return account;
  account.holds = [tenant = std::move(tenant), before = tenants::QuotaLimits{}](const jail::HeldFiles& files) mutable {
    tenants::QuotaLimits now{files.bytes, files.files};
    // More than can be counted is more than is allowed.
    if (files.is_partial) now.files = std::max(now.files, tenant->workspace().quota().limits().files + 1);
    tenant->workspace().replace_part(tenants::Holder::unnamed, before, now);
    before = now;
  };
  return account;
}

}  // namespace calls
