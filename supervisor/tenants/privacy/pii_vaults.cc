#include "supervisor/tenants/privacy/pii_vaults.h"

namespace privacy {

Task<Result<PiiVaults::VaultPtr>> PiiVaults::of(const tenants::TenantId& tenant, std::chrono::seconds lifetime) {
  std::erase_if(forgotten_, [](const VaultPtr& forgotten) { return forgotten.use_count() == 1; });
  Result<VaultPtr> vault;
  if (const auto it = vaults_.find(tenant); it != vaults_.end()) {
    vault = it->second;
  } else {
    Waiter opened(loop_, fail(Code::internal, "the vault for personal data was not opened", "call again"));
    const auto [opening, is_first] = opening_.try_emplace(tenant);
    opening->second.push_back(opened.resolver());
    if (is_first) tasks_.spawn(open(tenant));
    vault = co_await opened;
  }
  if (vault) (*vault)->set_lifetime(lifetime);
  co_return vault;
}

void PiiVaults::forget(const tenants::TenantId& tenant) {
  if (auto vault = vaults_.extract(tenant)) forgotten_.push_back(std::move(vault.mapped()));
  std::erase_if(forgotten_, [](const VaultPtr& vault) { return vault.use_count() == 1; });
}

// The entry of one opening in opening_. If the opening throws, or its task is destroyed, the destructor removes the
// entry, and with it the resolvers: all waiting callers get their error.
class PiiVaults::Opening {
 public:
  Opening(PiiVaults& all, const tenants::TenantId& tenant) : all_(all), tenant_(tenant) {}
  ~Opening() {
    if (!is_done_) all_.opening_.erase(tenant_);
  }
  std::vector<Waiter::Resolver> take_waiting() {
    is_done_ = true;
    return std::move(all_.opening_.extract(tenant_).mapped());
  }

 private:
  PiiVaults& all_;
  const tenants::TenantId& tenant_;
  bool is_done_ = false;
};

Task<> PiiVaults::open(tenants::TenantId tenant) {
  Opening opening(*this, tenant);
  VaultResult vault_ptr = VaultPtr();
  if (make_) {
    Task<VaultResult> making = make_(tenant);
    vault_ptr = co_await std::move(making);
  } else {
    vault_ptr = std::make_shared<policies::MemoryVault>();
  }
  Result<VaultPtr> vault;
  if (vault_ptr) {
    vault = *vault_ptr;
    vaults_[tenant] = *std::move(vault_ptr);
  } else {
    vault = tl::unexpected<Error>(std::move(vault_ptr).error());
  }
  const auto waiting = opening.take_waiting();
  for (const auto& item : waiting) item.resolve_now(vault);  // in this turn: forget() may close the vault in the next
}

}  // namespace privacy
