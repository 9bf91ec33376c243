#include "supervisor/daemon/tenant_data.h"

#include "supervisor/base/log.h"
#include "supervisor/tenants/vault.h"

void TenantData::forget(const tenants::TenantId& id) {
  close_stores(id);
  parts_.learning.forget(id.text());
  parts_.recent_code.forget(id.text());
  parts_.workflows.forget(id.text());
  parts_.tasks.forget_of(id.text());
  parts_.named.forget_of(id.text());
  if (!id.workspace.empty()) return;
  parts_.busiest_tenants.forget(id.account);
  parts_.upstream.forget_logins_of(id.account);
}

void TenantData::close(const tenants::TenantId& id) {
  parts_.upstream.end_idle_of(id.account);
  parts_.expected_jails.replace();  // jails wait with the workspace
  close_stores(id);
}

void TenantData::close_account(const std::string& tenant) {
  parts_.upstream.end_idle_of(tenant);
  parts_.expected_jails.replace();  // forks of the tenant's interpreter wait
  for (const auto& one : parts_.registry.of_account(tenant)) close_stores(one->id());
}

void TenantData::close_stores(const tenants::TenantId& id) {
  parts_.skills.forget(id);
  parts_.vaults.forget(id);
  parts_.proposals.forget(id);
}

Task<> TenantData::expire() {
  for (;;) {
    const auto next = co_await parts_.registry.expire_workspaces();
    co_await parts_.proposals.tidy();
    co_await parts_.workflows.tidy();
    co_await sleep_for(parts_.loop, next);
  }
}

Task<privacy::PiiVaults::Made> open_vault(Loop& loop, WorkerThread& disk, tenants::Registry& registry,
                                          const tenants::MasterKey& key, tenants::TenantId id) {
  const std::string name = id.text();
  const auto tenant = registry.find(id);  // while this reference exists, the tenant's folder is not removed
  if (!tenant) co_return fail(Code::internal, "there is no tenant '" + name + "'");
  auto opening = tenants::SealedVault::open(loop, disk, tenant->directory(), key.of_vault(name));
  auto vault = co_await std::move(opening);
  if (!vault) co_return tl::unexpected<Error>(std::move(vault).error());
  if (!(*vault)->damage().empty()) log_error("tenant {}: the vault for personal data: {}", name, (*vault)->damage());
  co_return privacy::PiiVaults::VaultPtr(*std::move(vault));
}
