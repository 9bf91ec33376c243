// Removed tenants: the folders of tenants that are being removed. They are renamed first, in one step, so that what a
// killed daemon left is no tenant any longer, and is found at the next start:
//   tenants/.removing-NAME.MS-LAST   the journal still has rows of the tenant, the last of them with the number LAST
//   tenants/.deleting-NAME.MS-LAST   the journal has none; the files are being deleted
// MS is the time of the removal, and only makes the name unlike those of other removals: a clock may be wrong.
// Used by: supervisor/daemon/tenant_removal.cc. Errors: those of base/path.h.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace tenants {

struct RemovedTenant {
  std::string name;   // of the tenant
  int64_t at_ms = 0;  // since 1970
  // Number of the journal's last execution, of any tenant, when it was removed. nullopt: an earlier version removed it.
  std::optional<int64_t> last_row = {};
  bool in_journal = false;  // .removing-
  std::string folder() const;
};

// yes: the tenant is removed although it has clients, or the cluster cannot forget its homes.
enum class RemovalForce { no, yes };

// Renames the tenant's folder. `tenants`: the folder of all tenants (O_PATH is enough), here and below.
// Errors: not_found: the folder does not exist.
Result<RemovedTenant> set_aside(int tenants, const std::string& name, int64_t at_ms, int64_t last_row);
// The journal has no rows of the tenant any longer: renames the folder. Also sets `removed.in_journal`.
Result<> leave_journal(int tenants, RemovedTenant& removed);
// Removed tenants that an earlier call or an earlier daemon has left.
Result<std::vector<RemovedTenant>> list_removed(int tenants);
// Deletes the files. Takes as long as the disk does, so it runs beside the loop; ends early, with the error
// `unavailable`, when `stop` is true. An interrupted deletion leaves a smaller tree.
Result<> delete_files(int tenants, const RemovedTenant& removed, const std::function<bool()>& stop);

}  // namespace tenants
