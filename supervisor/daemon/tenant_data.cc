// What the parts hold of one tenant or named workspace: its end, and what expires of it.
#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/tenants/vault.h"

// What is held of a removed tenant or named workspace outside of its folder and the journal.
void DaemonParts::forget_data_of(const tenants::TenantId& id) {
  skills_.forget(id);
  vaults_.forget(id);
  learning_.forget(id.text());
  recent_code_.forget(id.text());
  proposals_.forget(id);
  workflows_.forget(id.text());
  task_store_.forget_of(id.text());
  named_.forget_of(id.text());
  if (!id.workspace.empty()) return;
  busiest_tenants_.forget(id.account);
  upstream_.forget_logins_of(id.account);
}

// Its folder will have other contents, or none. Nothing runs in it.
void DaemonParts::close_data_of(const tenants::TenantId& id) {
  upstream_.end_idle_of(id.account);
  empty_pool();  // of jails that wait with the workspace
  skills_.forget(id);
  vaults_.forget(id);
  proposals_.forget(id);
}

void DaemonParts::disconnect_tenant(const std::string& tenant) {
  const auto is_of = [&tenant](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return tenants::member_of(user).tenant->account() == tenant;
  };
  disconnect_if(is_of);
  upstream_.end_idle_of(tenant);
  empty_pool();  // of forks of the tenant's interpreter
  for (const auto& one : registry_.of_account(tenant)) {
    skills_.forget(one->id());
    vaults_.forget(one->id());
    proposals_.forget(one->id());
  }
}

Task<> DaemonParts::expire_workspaces() {
  for (;;) {
    const auto next = co_await registry_.expire_workspaces();
    co_await proposals_.tidy();
    co_await workflows_.tidy();
    co_await sleep_for(loop_, next);
  }
}

Task<privacy::PiiVaults::Made> DaemonParts::open_vault(tenants::TenantId id) {
  const std::string name = id.text();
  const auto tenant = registry_.find(id);  // while this reference exists, the tenant's folder is not removed
  if (!tenant) co_return fail(Code::internal, "there is no tenant '" + name + "'");
  auto opening =
      tenants::SealedVault::open(loop_, *opened_.vault_disk, tenant->directory(), prepared_.key.of_vault(name));
  auto vault = co_await std::move(opening);
  if (!vault) co_return tl::unexpected<Error>(std::move(vault).error());
  if (!(*vault)->damage().empty()) log_error("tenant {}: the vault for personal data: {}", name, (*vault)->damage());
  co_return std::unique_ptr<policies::PiiVault>(*std::move(vault));
}
