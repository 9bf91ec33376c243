// disk_account_of(): the account of a jail with a tenant's workspace. The files without a name that the jail holds
// count in the tenant's quota, unless the kernel holds that quota (tenants/project.h). Used by: runs/code_execution.cc,
// upstream_call.cc (servers in jails).
#pragma once
#include <memory>
#include <string>

#include "jail/usage/disk_users.h"

namespace tenants {
class Tenant;
}

namespace calls {

// `owner`: of the jail, for the log. The account holds the tenant.
jail::DiskAccount disk_account_of(std::shared_ptr<tenants::Tenant> tenant, std::string owner);

}  // namespace calls
