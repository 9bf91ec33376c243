#include "supervisor/privacy/pii_vaults.h"

namespace privacy {

Task<Result<policies::PiiVault*>> PiiVaults::of(const tenants::TenantId& tenant, std::chrono::seconds lifetime) {
  auto mine = std::make_shared<Waiting>();
  if (const auto known = vaults_.find(tenant); known != vaults_.end()) {
    mine->vault = known->second.get();
  } else {
    const auto [opening, is_first] = opening_.try_emplace(tenant);
    opening->second.push_back(mine);
    if (is_first) tasks_.spawn(open(tenant));
    co_await mine->done;
  }
  if (mine->vault) (*mine->vault)->set_lifetime(lifetime);
  co_return mine->vault;
}

Task<> PiiVaults::open(tenants::TenantId tenant) {
  Made made = std::unique_ptr<policies::PiiVault>();
  if (make_) {
    Task<Made> making = make_(tenant);
    made = co_await std::move(making);
  } else {
    made = std::make_unique<policies::MemoryVault>();
  }
  Result<policies::PiiVault*> vault;
  if (made) {
    vault = made->get();
    vaults_[tenant] = *std::move(made);
  } else {
    vault = tl::unexpected<Error>(std::move(made).error());
  }
  const Waiters waiting = std::move(opening_.extract(tenant).mapped());
  for (const auto& one : waiting) {
    one->vault = vault;
    one->done.fire();
  }
}

}  // namespace privacy
