// stamp_with_retention_time(): sets the times of a file or folder that is open to the retention time
// (base/elapsed_clock.h), so that the order and the age of stored files do not depend on the wall clock.
// Used by: sessions.cc, executions.cc, named_workspaces.cc. Errors: those of futimens(2).
#pragma once
#include "supervisor/base/result.h"

namespace tenants {

Result<> stamp_with_retention_time(int fd);

}  // namespace tenants
