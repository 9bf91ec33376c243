// PiiVaults: the vaults of all tenants. Each vault is opened at its first use, which may read a large file. Callers
// that want the same vault meanwhile wait for the same opening; all other callers continue. Source: Make, in the daemon
// tenants/vault.h. Used by: call_pii.cc, pii_response_filter.cc, supervisor/tools/pii. Errors: those of Make; internal:
// the opening ended without a vault.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "policies/pii/tokens.h"
#include "policies/tenant_id.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/result.h"

namespace privacy {

class PiiVaults {
 public:
  // Opens a tenant's vault; by default a vault in memory, which ends with the process. The tenant's folder must exist
  // until the task has ended.
  // A vault that was forgotten lives until the last job that uses it has ended.
  using VaultPtr = std::shared_ptr<policies::PiiVault>;
  using VaultResult = Result<VaultPtr>;
  using Make = std::function<Task<VaultResult>(tenants::TenantId tenant)>;
  // The loop must outlive this object.
  explicit PiiVaults(Loop& loop, Make make = {}) : loop_(loop), make_(std::move(make)), tasks_(loop) {}

  // Returns the tenant's vault, at once if it is open, and sets the lifetime of tokens stored from now on. Errors:
  // those of Make, for all callers that waited; the next caller calls Make again. The opening continues after a
  // cancelled call.
  Task<Result<VaultPtr>> of(const tenants::TenantId& tenant, std::chrono::seconds lifetime);
  // Closes the vault of a tenant whose folder was removed.
  void forget(const tenants::TenantId& tenant);

 private:
  using Waiter = OneShot<Result<VaultPtr>>;
  class Opening;
  Task<> open(tenants::TenantId tenant);

  Loop& loop_;
  Make make_;
  std::map<tenants::TenantId, VaultPtr> vaults_;
  std::vector<VaultPtr> forgotten_;  // that jobs may still use: a vault ends on the loop's thread
  std::map<tenants::TenantId, std::vector<Waiter::Resolver>> opening_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace privacy
